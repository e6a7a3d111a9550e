import { DEFAULT_BRAND_COLOR } from '../../domain/send/sender.js'

/** The style of the recipients' pages: for small phones first, light and dark, and for print. */
export const STYLE = `
:root { --brand: ${DEFAULT_BRAND_COLOR}; --ink: #1b2430; --soft: #55606e; --paper: #fff; --ground: #f1f3f6; --line: #dde2e9; --link: var(--brand);
  --edge: transparent; --good: #0a6b3d; --good-ground: #e6f5ec; --bad: #a31621; --bad-ground: #fdecee; color-scheme: light }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e9edf2; --soft: #a9b4c0; --paper: #1a2129; --ground: #10151b; --line: #323c47; --link: #9fcbff;
    --edge: #ffffff52; --good: #7fdcaa; --good-ground: #12301f; --bad: #ffa8ae; --bad-ground: #3a171b; color-scheme: dark }
}
* { box-sizing: border-box }
[hidden] { display: none !important }
html { -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  min-height: 100vh; display: flex; flex-direction: column }
body::before { content: ""; height: 6px; background: var(--brand) }
header, main, footer { width: 100%; max-width: 40rem; margin: 0 auto; padding: 0 1rem }
.wide > * { max-width: 56rem }
header { display: flex; align-items: center; gap: .75rem; padding-top: 1rem; padding-bottom: 1rem }
.sender { font-weight: 650; font-size: 1.05rem; overflow-wrap: anywhere; line-height: 1.3 }
.sender small { display: block; font-weight: 400; font-size: .875rem; color: var(--soft) }
.mark { flex: none; display: grid; place-items: center; width: 2.75rem; height: 2.75rem; border-radius: .75rem; background: var(--brand); color: #fff;
  font-weight: 700; font-size: 1.15rem; border: 1px solid var(--edge) }
.logo { flex: none; display: block; max-width: 8rem; height: 2.75rem; object-fit: contain; border-radius: .4rem; background: #fff; padding: .25rem }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 1rem; padding: 1.25rem; margin-bottom: 1rem; box-shadow: 0 1px 2px #0000000a, 0 8px 24px #0000000d }
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere; letter-spacing: -.01em }
h2 { font-size: 1.05rem; line-height: 1.3; margin: 0 0 .6rem }
.row + h2 { margin-top: 1.75rem }
p { margin: 0 0 .9rem }
p:last-child, ul:last-child, dl:last-child { margin-bottom: 0 }
a { color: var(--link); text-underline-offset: .15em }
.eyebrow { color: var(--soft); font-size: .875rem; margin: 0 0 .25rem }
dl { display: grid; grid-template-columns: fit-content(6.25rem) 1fr; gap: .4rem .75rem; margin: 0 0 1.1rem; font-size: .95rem }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
dt.long, dt.long + dd { grid-column: 1 / -1 }
dt.long + dd { margin-top: -.4rem }
.code { font: .82rem/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; overflow-wrap: anywhere }
button, .button { display: flex; align-items: center; justify-content: center; gap: .5rem; width: 100%; min-height: 3.25rem; padding: .6rem 1.25rem; border: 1px solid var(--edge); border-radius: .8rem;
  background: var(--brand); color: #fff; font: inherit; font-weight: 650; font-size: 1.1rem; text-align: center; text-decoration: none; cursor: pointer }
button:hover, .button:hover { filter: brightness(.92) }
button.quiet, .button.quiet { background: transparent; color: var(--ink); border-color: var(--soft); font-weight: 500; font-size: 1rem; min-height: 2.9rem }
button.quiet:hover, .button.quiet:hover { background: var(--ground); filter: none }
button + .button, form + .button, form + form { margin-top: .75rem }
.row { display: grid; gap: .75rem }
.row > * { margin-top: 0 !important }
:focus-visible { outline: 3px solid var(--link); outline-offset: 3px }
label { display: block; font-weight: 600; font-size: 1.1rem; margin-bottom: .5rem; overflow-wrap: anywhere }
input[type=text] { width: 100%; min-height: 3.25rem; padding: .5rem .9rem; border: 1.5px solid var(--soft); border-radius: .8rem; background: var(--paper); color: var(--ink); font: inherit; font-size: 1.15rem; margin-bottom: .5rem }
.hint { color: var(--soft); font-size: .9rem }
form + .hint { margin-top: .9rem }
.notice { border-radius: .8rem; padding: .9rem 1rem; margin: 0 0 1rem; background: var(--bad-ground); color: var(--bad) }
.notice.good { background: var(--good-ground); color: var(--good) }
.notice strong { display: block }
.notice.plain { background: var(--ground); color: var(--ink) }
.notice h2 { font-size: 1.2rem; margin-bottom: .3rem }
.drop { border: 2px dashed var(--soft); border-radius: .8rem; padding: 1rem; margin-bottom: 1rem }
.drop.over { border-color: var(--link); background: var(--ground) }
.drop label { font-size: 1rem }
input[type=file] { width: 100%; min-height: 2.75rem; font: inherit; color: var(--ink) }
input::file-selector-button { font: inherit; min-height: 2.75rem; padding: 0 1rem; margin-right: .75rem; border: 1px solid var(--soft); border-radius: .6rem; background: var(--ground); color: var(--ink) }
.steps { padding-left: 1.4rem; display: grid; gap: .6rem; overflow-wrap: anywhere }
.steps .broken strong { color: var(--bad) }
.steps .holds strong { color: var(--good) }
.steps .skipped { color: var(--soft) }
#resultado h2 { margin-top: 1rem }
#resultado .notice h2 { margin-top: 0 }
#resultado ul { padding-left: 1.4rem; overflow-wrap: anywhere }
.checks { list-style: none; margin: 0; padding: 0; display: grid; gap: .7rem; font-size: .95rem }
.checks li { display: grid; grid-template-columns: 1.35rem 1fr; gap: .6rem }
.checks svg { width: 1.35rem; height: 1.35rem; margin-top: .1rem; color: var(--good) }
dd span.code, .legal { display: block }
.qr { display: block; width: 9.5rem; padding: .6rem; background: #fff; border: 1px solid var(--line); border-radius: .6rem }
.qr svg { display: block; width: 100%; height: auto }
.files + .hint { margin-top: 1rem }
.together { white-space: nowrap }
.keep { display: grid; gap: 1rem; align-items: center; border-top: 1px solid var(--line); padding-top: 1.1rem; margin-bottom: 1.1rem }
.keep p { overflow-wrap: anywhere }
.checks b { overflow-wrap: anywhere }
.content { display: block; width: 100%; height: 75vh; min-height: 20rem; border: 1px solid var(--line); border-radius: .6rem; background: #fff }
.content.whole { min-height: 0 }
.aside { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; justify-content: space-between; font-size: .9rem; margin-top: .6rem }
.aside a, .away a { display: inline-block; padding: .3rem 0 }
.files { list-style: none; margin: 0; padding: 0; display: grid; gap: .9rem }
.files a { font-weight: 600; overflow-wrap: anywhere; display: inline-block; padding: .2rem 0 }
.files .code { display: block; color: var(--soft); font-size: .75rem }
.away { text-align: center; margin: 0 0 1rem }
.trap { position: absolute; left: -200vw; width: 1px; height: 1px; overflow: hidden }
.stamp { display: grid; place-items: center; width: 3.5rem; height: 3.5rem; border-radius: 50%; background: var(--good-ground); color: var(--good); margin: 0 0 .9rem }
.stamp svg { width: 2rem; height: 2rem }
footer { margin-top: auto; padding-top: .5rem; padding-bottom: 1.5rem; color: var(--soft); font-size: .85rem; text-align: center }
@media (min-width: 40rem) {
  header { padding-top: 2rem }
  .card { padding: 2rem }
  h1 { font-size: 1.75rem }
  dt.long, dt.long + dd { grid-column: auto; margin-top: 0 }
  .row { display: flex; flex-wrap: wrap }
  .keep { grid-template-columns: auto 1fr }
  dl { grid-template-columns: fit-content(9rem) 1fr; gap: .4rem 1.25rem }
  .row > * { flex: 1 1 auto; width: auto }
}
@media print {
  html { font-size: 12.5px }
  body { background: #fff; color: #000; display: block; min-height: 0 }
  body::before { display: none }
  header, main { max-width: none; padding: 0 0 .75rem }
  .card { border: 0; box-shadow: none; padding: 0 }
  .screen, footer { display: none !important }
  .files li, dl > * { break-inside: avoid }
  header, h1, h2, .eyebrow { break-after: avoid }
  .files + .hint { break-after: avoid }
  .keeps { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; break-inside: avoid }
  .keep { grid-template-columns: auto 1fr; align-items: start }
  .qr { width: 8.5rem; padding: 0; border: 0 }
  .stamp { border: 2px solid #000 }
}
`.trim()
