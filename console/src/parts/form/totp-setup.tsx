import type { NewTotp } from '../../../../src/http/console/access/sign-in-schema.js'
import { defineWords, useWords } from '../../app/language.js'
import { CopyButton } from './copy-button.js'
import { TextField } from './field.js'

const totpWords = defineWords(
  {
    scan: 'Leia este código com o aplicativo de códigos do seu celular (Google Authenticator, Aegis, 1Password…).',
    qr: 'Código QR para o aplicativo',
    secret: 'Ou digite esta chave nele:',
    code: 'Código que o aplicativo mostra',
  },
  {
    scan: 'Scan this with the authenticator app of your phone (Google Authenticator, Aegis, 1Password…).',
    qr: 'QR code for the app',
    secret: 'Or type this key into it:',
    code: 'Code that the app shows',
  },
)

export function TotpSetup({ totp, code, onCode }: { totp: NewTotp; code: string; onCode(code: string): void }) {
  const words = useWords(totpWords)
  return (
    <div className="flex flex-col gap-3 rounded-xl border border-line p-4">
      <p className="text-[0.93rem]">{words.scan}</p>
      <img
        alt={words.qr}
        src={`data:image/svg+xml,${encodeURIComponent(totp.qr)}`}
        className="size-44 self-center rounded-lg bg-white p-3"
      />
      <div className="text-[0.87rem] text-muted">
        {words.secret}
        <div className="flex items-center gap-1">
          <code className="font-mono break-all text-text">{totp.secret}</code>
          <CopyButton compact text={totp.secret} />
        </div>
      </div>
      <TextField
        label={words.code}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        value={code}
        onChange={event => onCode(event.target.value)}
      />
    </div>
  )
}
