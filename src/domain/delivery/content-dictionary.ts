/**
 * Texts that most messages share. A content is stored as its differences from one of them, in a third of the room and two thirds of the
 * time. Stored contents are read with the dictionary that they were packed with, so none is ever changed or removed: where messages
 * look otherwise one day, a new one is added, under a new name that a migration allows in sent_content.packing.
 */
const texts = {
  // The frame around the content of a sender, and the notice in place of a content that a question protects.
  'frame-1': `Uma notifica=C3=A7=C3=A3o protegida para voc=C3=AA
H=C3=A1 uma notifica=C3=A7=C3=A3o de para voc=C3=AA, protegida por uma perg=
unta. Por isso o conte=C3=BAdo e os anexos n=C3=A3o est=C3=A3o nesta mensag=
em: s=C3=B3 quem sabe a resposta os l=C3=AA.
Abra a notifica=C3=A7=C3=A3o e responda =C3=A0 pergunta para ler o conte=C3=
ize:1px;line-height:1px;color:#ffffff">O conte=C3=BAdo =C3=A9 protegido por=
 uma pergunta que s=C3=B3 voc=C3=AA deve saber responder.</div>
<h1 style=3D"margin:0 0 14px;font-size:22px;line-height:1.3;color:#1b2430">=
Uma notifica=C3=A7=C3=A3o protegida para voc=C3=AA</h1>
<p style=3D"margin:0 0 14px">Ol=C3=A1, .</p>
<p style=3D"margin:0 0 14px">H=C3=A1 uma notifica=C3=A7=C3=A3o de <strong><=
/strong> para voc=C3=AA, protegida por uma pergunta. Por isso o conte=C3=BA=
do e os anexos n=C3=A3o est=C3=A3o nesta mensagem: s=C3=B3 quem sabe a resp=
osta os l=C3=AA.</p>
<p style=3D"margin:0;padding:12px 16px;background-color:#f5f7f9;border-radi=
us:10px;color:#1b2430;overflow-wrap:anywhere"><span style=3D"color:#55606e"=
>Assunto:</span> </p>
ont-size:15px;line-height:1.5;color:#1b2430">Abra a notifica=C3=A7=C3=A3o e=
 responda =C3=A0 pergunta para ler o conte=C3=BAdo.</p>
Auto-Submitted: auto-generated
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="=_carteiro_alternative"

--=_carteiro_alternative
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

----------------------------------------
Abra a notifica=C3=A7=C3=A3o no navegador para confirmar que a recebeu, gua=
rdar o comprovante ou ler com mais conforto.



----------------------------------------

Ningu=C3=A9m pede senha, c=C3=B3digo ou pagamento para voc=C3=AA ler esta n=
otifica=C3=A7=C3=A3o.

--=_carteiro_alternative
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<!doctype html>
<html lang=3D"pt-BR">
<head>
<meta charset=3D"utf-8">
<meta name=3D"viewport" content=3D"width=3Ddevice-width, initial-scale=3D1">
<meta name=3D"color-scheme" content=3D"light">
<meta name=3D"supported-color-schemes" content=3D"light">
<meta name=3D"format-detection" content=3D"telephone=3Dno, date=3Dno, addre=
ss=3Dno">
<meta name=3D"x-apple-disable-message-reformatting">
<title></title>
<style>:root{color-scheme:light}
=2Ent-content{overflow-x:auto;overflow-wrap:break-word;contain:layout paint}
=2Ent-wide{overflow-x:auto}.nt-lines{font-size:14.5px}
=2Ent-content>div{max-width:100%!important;box-sizing:border-box}
=2Ent-content>div>:first-child{margin-top:0}.nt-content>div>:last-child{mar=
gin-bottom:0}
=2Ent-content table{max-width:100%!important}
=2Ent-content img{max-width:100%!important;height:auto!important}
@media (max-width:600px){.nt-ground{padding:0!important}.nt-side{padding-le=
ft:18px!important;padding-right:18px!important}
=2Ent-card{border-radius:0!important;border-left:0!important;border-right:0=
!important}.nt-button{width:100%!important}.nt-button a{display:block!impor=
tant}}</style>
<style>.nt-wide::-webkit-scrollbar{height:9px}.nt-wide::-webkit-scrollbar-t=
rack{background:#eef1f4;border-radius:5px}
=2Ent-wide::-webkit-scrollbar-thumb{background:#8a94a0;border-radius:5px}</=
style>
</head>
<body style=3D"margin:0;padding:0;background-color:#eef1f4">
<div style=3D"display:none;max-height:0;overflow:hidden;mso-hide:all;font-s=
ize:1px;line-height:1px;color:#ffffff"></div>
<div role=3D"article" aria-roledescription=3D"e-mail" aria-label=3D"" lang=
=3D"pt-BR">
<table role=3D"presentation" width=3D"100%" cellpadding=3D"0" cellspacing=
=3D"0" border=3D"0" bgcolor=3D"#eef1f4" style=3D"background-color:#eef1f4">
<tr><td class=3D"nt-ground" align=3D"center" style=3D"padding:24px 12px">
<table class=3D"nt-card" role=3D"presentation" width=3D"600" cellpadding=3D=
"0" cellspacing=3D"0" border=3D"0" bgcolor=3D"#ffffff" style=3D"width:100%;=
max-width:600px;table-layout:fixed;border-collapse:separate;background-colo=
r:#ffffff;border:1px solid #dde2e9;border-radius:14px;overflow:hidden">
<tr><td height=3D"6" bgcolor=3D"#0b5d4e" style=3D"height:6px;line-height:6p=
x;font-size:0;background-color:#0b5d4e">&nbsp;</td></tr>
<tr><td class=3D"nt-side" align=3D"left" style=3D"padding:20px 28px;border-=
bottom:1px solid #dde2e9">
<table role=3D"presentation" cellpadding=3D"0" cellspacing=3D"0" border=3D"=
0">
<tr><td valign=3D"middle" style=3D"padding-right:14px"><table role=3D"prese=
ntation" cellpadding=3D"0" cellspacing=3D"0" border=3D"0"><tr><td width=3D"=
44" height=3D"44" align=3D"center" valign=3D"middle" bgcolor=3D"#0b5d4e" ar=
ia-hidden=3D"true" style=3D"width:44px;height:44px;border-radius:12px;backg=
round-color:#0b5d4e;font-family:&#39;Segoe UI&#39;,Roboto,Helvetica,Arial,s=
ans-serif;font-size:19px;font-weight:bold;color:#ffffff"></td></tr></table>=
</td>
<td valign=3D"middle" style=3D"font-family:&#39;Segoe UI&#39;,Roboto,Helvet=
ica,Arial,sans-serif;font-size:17px;line-height:1.3;font-weight:bold;color:=
#1b2430;overflow-wrap:anywhere"><br>
<span style=3D"font-size:14px;font-weight:normal;color:#55606e">Notifica=C3=
=A7=C3=A3o para voc=C3=AA</span></td></tr>
</table>
</td></tr>
<tr><td class=3D"nt-side" align=3D"left" style=3D"padding:26px 28px;font-fa=
mily:&#39;Segoe UI&#39;,Roboto,Helvetica,Arial,sans-serif;font-size:16px;li=
ne-height:1.55;color:#1b2430">
<div class=3D"nt-content" tabindex=3D"0"><div>
<p></p>
</div></div>
</td></tr>
<tr><td class=3D"nt-side" align=3D"left" style=3D"padding:4px 28px 26px;fon=
t-family:&#39;Segoe UI&#39;,Roboto,Helvetica,Arial,sans-serif;color:#1b2430=
">
<p style=3D"margin:0 0 16px;padding-top:22px;border-top:1px solid #dde2e9;f=
ont-size:15px;line-height:1.5;color:#1b2430">Abra a notifica=C3=A7=C3=A3o n=
o navegador para confirmar que a recebeu, guardar o comprovante ou ler com =
mais conforto.</p>
<table class=3D"nt-button" role=3D"presentation" cellpadding=3D"0" cellspac=
ing=3D"0" border=3D"0"><tr><td align=3D"center" bgcolor=3D"#0b5d4e" style=
=3D"border-radius:10px;background-color:#0b5d4e;mso-padding-alt:15px 30px">=
<a href=3D"" style=3D"display:inline-block;padding:15px 30px;border-radius:=
10px;font-family:&#39;Segoe UI&#39;,Roboto,Helvetica,Arial,sans-serif;font-=
size:17px;line-height:1.2;font-weight:bold;color:#ffffff;text-decoration:no=
ne;text-align:center">Abrir a notifica=C3=A7=C3=A3o</a></td></tr></table>
<p style=3D"margin:16px 0 2px;font-size:13px;line-height:1.5;color:#55606e"=
>Se o bot=C3=A3o n=C3=A3o abrir, copie este endere=C3=A7o no navegador:</p>
<p style=3D"margin:0;font-size:13px;line-height:1.5;word-break:break-all"><=
a href=3D"" style=3D"color:#0b5d4e;word-break:break-all"></a></p>
</td></tr>
<tr><td class=3D"nt-side" align=3D"left" bgcolor=3D"#ffffff" style=3D"paddi=
ng:20px 28px 24px;border-top:1px solid #dde2e9;background-color:#ffffff;fon=
t-family:&#39;Segoe UI&#39;,Roboto,Helvetica,Arial,sans-serif;font-size:13p=
x;line-height:1.6;color:#55606e">
<strong style=3D"color:#1b2430"></strong>

<p style=3D"margin:12px 0 0;font-size:13px;line-height:1.6;color:#55606e">N=
ingu=C3=A9m pede senha, c=C3=B3digo ou pagamento para voc=C3=AA ler esta no=
tifica=C3=A7=C3=A3o.</p>
</td></tr>
</table>
</td></tr>
</table>
</div>
<img src=3D"" width=3D"1" height=3D"1" alt=3D"" style=3D"display:block">
</body>
</html>

--=_carteiro_alternative--
`,
}

export type ContentDictionary = keyof typeof texts

/** Lines end as they do in messages. */
const dictionaries = new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text.replaceAll('\n', '\r\n'))]))

export function dictionaryOf(name: ContentDictionary): Buffer {
  const dictionary = dictionaries.get(name)
  // A later version of the program has stored it.
  if (dictionary === undefined) throw new Error(`the content was packed with ${name}, which this version does not know`)
  return dictionary
}
