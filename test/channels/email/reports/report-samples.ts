/** What mail systems send back, written after the originals of each make. Addresses are made up. */

const VERP = 'b+019a1b2c3d4e7f508a6b7c8d9e0f1a2b.0123456789abcdef@bounce.example.com'

const crlf = (text: string): Buffer => Buffer.from(text.replace(/\n/g, '\r\n'))

export const postfixFailure = crlf(`Return-Path: <>
Date: Sat, 18 Jul 2026 01:01:33 -0300 (-03)
From: MAILER-DAEMON@relay.example.com (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: ${VERP}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
 boundary="4gT8xq1zK0z9.1784347293/relay.example.com"
Message-Id: <20260718040133.4gT8xr0Yk4z9@relay.example.com>

This is a MIME-encapsulated message.

--4gT8xq1zK0z9.1784347293/relay.example.com
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host relay.example.com.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients.

<joao@example.net>: host mx.example.net[192.0.2.25] said: 550 5.1.1
    <joao@example.net>: Recipient address rejected: User unknown (in reply to
    RCPT TO command)

--4gT8xq1zK0z9.1784347293/relay.example.com
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example.com
Original-Envelope-Id: 019a1b2c-3d4e+2B7f50
X-Postfix-Queue-ID: 4gT8xq1zK0z9
X-Postfix-Sender: rfc822; ${VERP}
Arrival-Date: Sat, 18 Jul 2026 01:01:32 -0300 (-03)

Final-Recipient: rfc822; joao@example.net
Original-Recipient: rfc822;joao@example.net
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.example.net
Diagnostic-Code: smtp; 550 5.1.1 <joao@example.net>: Recipient address
    rejected: User unknown

--4gT8xq1zK0z9.1784347293/relay.example.com
Content-Description: Undelivered Message Headers
Content-Type: text/rfc822-headers

From: =?UTF-8?Q?=C3=93rg=C3=A3o?= <avisos@orgao.example.com>
To: <joao@example.net>
Subject: Aviso
Message-ID: <019a1b2c@orgao.example.com>

--4gT8xq1zK0z9.1784347293/relay.example.com--
`)

export const postfixSuccess = crlf(`From: MAILER-DAEMON@relay.example.com (Mail Delivery System)
Subject: Successful Mail Delivery Report
To: ${VERP}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="B"

--B
Content-Type: text/plain; charset=us-ascii

Your message was successfully delivered to the destination(s)
listed below.

<joao@example.net>: relay mx.example.net[192.0.2.25]:25: 250 2.0.0 Ok: queued as 1234

--B
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example.com
Original-Envelope-Id: ref-1
Arrival-Date: Sat, 18 Jul 2026 01:01:32 -0300 (-03)

Final-Recipient: rfc822; joao@example.net
Original-Recipient: rfc822;joao@example.net
Action: relayed
Status: 2.0.0
Remote-MTA: dns; mx.example.net
Diagnostic-Code: smtp; 250 2.0.0 Ok: queued as 1234

--B
Content-Type: text/rfc822-headers

Subject: Aviso

--B--
`)

export const postfixDelay = crlf(`From: MAILER-DAEMON@relay.example.com (Mail Delivery System)
Subject: Delayed Mail (still being retried)
To: ${VERP}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="B"

--B
Content-Type: text/plain; charset=us-ascii

THIS IS A WARNING ONLY. YOU DO NOT NEED TO RESEND YOUR MESSAGE.

--B
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example.com

Final-Recipient: rfc822; joao@example.net
Action: delayed
Status: 4.4.1
Diagnostic-Code: X-Postfix; connect to mx.example.net[192.0.2.25]:25: Connection timed out
Will-Retry-Until: Thu, 23 Jul 2026 01:01:32 -0300 (-03)

--B--
`)

export const exchangeFailure =
  crlf(`From: Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@empresa.example.com>
To: ${VERP}
Date: Sat, 18 Jul 2026 04:01:40 +0000
Content-Type: multipart/report; report-type=delivery-status;
\tboundary="_004_c7f2exchange_"
X-MS-Exchange-Message-Is-Ndr:
Content-Language: pt-BR
Message-ID: <c7f2@empresa.example.com>
Subject: =?utf-8?B?TsOjbyBlbnRyZWd1ZTogQXZpc28=?=
Auto-Submitted: auto-replied
MIME-Version: 1.0

--_004_c7f2exchange_
Content-Type: multipart/alternative; differences=Content-Type;
\tboundary="_003_c7f2exchange_"

--_003_c7f2exchange_
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: base64

TsOjbyBmb2kgcG9zc8OtdmVsIGVudHJlZ2FyIHBhcmEgbWFyaWFAZW1wcmVzYS5leGFtcGxlLmNvbQ==

--_003_c7f2exchange_
Content-Type: text/html; charset="utf-8"

<html><body><p>Nao foi possivel entregar</p></body></html>

--_003_c7f2exchange_--

--_004_c7f2exchange_
Content-Type: message/delivery-status

Reporting-MTA: dns;CP2P152MB1234.lamprd15.prod.outlook.com
Received-From-MTA: dns;relay.example.com
Arrival-Date: Sat, 18 Jul 2026 04:01:38 +0000

Final-Recipient: rfc822;maria@empresa.example.com
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient maria@empresa.example.com not found by SMTP address lookup
X-Display-Name: maria@empresa.example.com

--_004_c7f2exchange_
Content-Type: message/rfc822

From: avisos@orgao.example.com
Subject: Aviso
Message-ID: <019a1b2c@orgao.example.com>
Content-Type: text/plain

Action: delivered
Status: 2.0.0

--_004_c7f2exchange_--
`)

export const gmailFailure = crlf(`Return-Path: <>
From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>
To: ${VERP}
Auto-Submitted: auto-replied
Subject: Delivery Status Notification (Failure)
References: <019a1b2c@orgao.example.com>
In-Reply-To: <019a1b2c@orgao.example.com>
X-Failed-Recipients: fulano@gmail.example
Message-ID: <64b6@mx.google.example>
MIME-Version: 1.0
Content-Type: multipart/report; boundary="0000000000001"; report-type=delivery-status

--0000000000001
Content-Type: multipart/related; boundary="0000000000002"

--0000000000002
Content-Type: multipart/alternative; boundary="0000000000003"

--0000000000003
Content-Type: text/plain; charset="UTF-8"

** Caixa de entrada cheia **

--0000000000003
Content-Type: text/html; charset="UTF-8"

<html><body><img src="cid:icon.png"></body></html>

--0000000000003--
--0000000000002
Content-Type: image/png; name="icon.png"
Content-Disposition: attachment; filename="icon.png"
Content-Transfer-Encoding: base64
Content-ID: <icon.png>

iVBORw0KGgo=

--0000000000002--
--0000000000001
Content-Type: message/delivery-status

Reporting-MTA: dns; googlemail.com
Arrival-Date: Fri, 17 Jul 2026 21:01:32 -0700 (PDT)
X-Original-Message-ID: <019a1b2c@orgao.example.com>

Final-Recipient: rfc822; fulano@gmail.example
Action: failed
Status: 5.2.2
Diagnostic-Code: smtp; 552-5.2.2 The recipient's inbox is out of storage space and inactive.
 552-5.2.2 Please direct the recipient to
 552 5.2.2  https://support.example/over-quota
Last-Attempt-Date: Fri, 17 Jul 2026 21:01:33 -0700 (PDT)

--0000000000001
Content-Type: message/rfc822

From: avisos@orgao.example.com

--0000000000001--
`)

export const qmailFailure = crlf(`Return-Path: <>
Received: (qmail 12345 invoked for bounce); 18 Jul 2026 04:01:33 -0000
Date: 18 Jul 2026 04:01:33 -0000
From: MAILER-DAEMON@antigo.example.org
To: ${VERP}
Subject: failure notice

Hi. This is the qmail-send program at antigo.example.org.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<pedro@antigo.example.org>:
192.0.2.7 does not like recipient.
Remote host said: 550 sorry, no mailbox here by that name. (#5.1.1)
Giving up on 192.0.2.7.

--- Below this line is a copy of the message.

To: Joao <joao@example.net>
Subject: Aviso
Message-ID: <019a1b2c@orgao.example.com>
`)

export const eximFailure = crlf(`X-Failed-Recipients: ana@exim.example.org
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@exim.example.org>
To: ${VERP}
Subject: Mail delivery failed: returning message to sender
Content-Type: text/plain; charset=utf-8

This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ana@exim.example.org
    host mx.exim.example.org [192.0.2.9]
    SMTP error from remote mail server after RCPT TO:<ana@exim.example.org>:
    554 5.7.1 Relay access denied
`)

export const oldWarning = crlf(`From: Postmaster <postmaster@antigo.example.org>
To: ${VERP}
Subject: Warning: message delayed

Your message to <pedro@antigo.example.org> could not be delivered yet.
It will be retried for 3 days.
`)

export const readingReceipt = crlf(`From: Joao <joao@example.net>
To: ${VERP}
Subject: =?utf-8?Q?Confirma=C3=A7=C3=A3o_de_leitura?=
MIME-Version: 1.0
Content-Type: multipart/report; report-type=disposition-notification; boundary="M"

--M
Content-Type: text/plain; charset=utf-8

Esta mensagem foi exibida.

--M
Content-Type: message/disposition-notification; name="MDNPart2.txt"
Content-Disposition: inline

Reporting-UA: example.net; Thunderbird 128.0
Final-Recipient: rfc822;joao@example.net
Original-Message-ID: <019a1b2c@orgao.example.com>
Disposition: manual-action/MDN-sent-manually; displayed

--M--
`)

export const automaticReceipt = crlf(
  readingReceipt
    .toString()
    .replace(/\r\n/g, '\n')
    .replace('manual-action/MDN-sent-manually; displayed', 'automatic-action/MDN-sent-automatically;\n\tdeleted/error'),
)

export const complaint = crlf(`From: <fbl@provedor.example>
To: ${VERP}
Subject: FW: Aviso
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="F"

--F
Content-Type: text/plain; charset="US-ASCII"

This is an email abuse report for an email message received from 192.0.2.1.

--F
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: Provedor/1.0
Version: 1
Original-Mail-From: <${VERP}>
Arrival-Date: Sat, 18 Jul 2026 01:01:32 -0300

--F
Content-Type: message/rfc822

From: avisos@orgao.example.com
Subject: Aviso
Message-ID: <019a1b2c@orgao.example.com>

--F--
`)

export const vacation = crlf(`From: Joao <joao@example.net>
To: ${VERP}
Subject: Re: Aviso
Auto-Submitted: auto-replied (vacation)
Precedence: bulk
Content-Type: text/plain; charset=utf-8

Estou de ferias. On Monday, somebody wrote:
`)

export const person = (body: string, headers = ''): Buffer =>
  crlf(`From: =?utf-8?Q?Jo=C3=A3o?= <joao@example.net>
To: ${VERP}
Subject: Re: Aviso
In-Reply-To: <019a1b2c@orgao.example.com>
${headers}Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

${body}
`)
