import type { Json } from '../../domain/evidence/canonical-json.js'
import type { FactDetail } from '../channel.js'

type Members = { readonly [member: string]: Json | undefined }

const membersOf = (value: Json | undefined): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
const said = (value: Json | undefined): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** The conversation with a mail server, for proofs: who answered, over which encryption, and what. */
export function explainDialogue(value: Json): FactDetail[] {
  const { server, address, port, tls, fault, steps } = membersOf(value)
  const where = [said(address), said(port) && `porta ${said(port)}`].filter(text => text !== '').join(', ')
  const details: FactDetail[] = [{ label: 'Servidor SMTP', value: where === '' ? said(server) : `${said(server)} (${where})` }]
  details.push(...explainTls(tls))
  if (said(fault) !== '') details.push({ label: 'Falha de conexão', value: said(fault) })
  const lines = (Array.isArray(steps) ? steps : []).map(step => {
    const { command, reply, ms } = membersOf(step)
    return `${said(command).padEnd(11)} ${said(reply)}${said(ms) === '' ? '' : `  (${said(ms)} ms)`}`
  })
  return lines.length === 0 ? details : [...details, { label: 'Diálogo SMTP: comando e resposta do servidor', lines }]
}

function explainTls(tls: Json | undefined): FactDetail[] {
  if (tls === null || tls === undefined) return [{ label: 'Criptografia', value: 'nenhuma: a conexão não era TLS' }]
  const { version, cipher, verified, fault, certificate } = membersOf(tls)
  const trust = verified === true ? 'certificado verificado' : `certificado não verificado${said(fault) && ` (${said(fault)})`}`
  const details: FactDetail[] = [
    { label: 'Criptografia', value: [said(version), said(cipher), trust].filter(Boolean).join(', ') },
  ]
  const { subject, issuer, sha256, validFrom, validTo } = membersOf(certificate)
  if (said(subject) === '') return details
  const valid = `${said(validFrom).slice(0, 10)} a ${said(validTo).slice(0, 10)}`
  details.push({ label: 'Certificado TLS', value: `${said(subject)}; emitido por ${said(issuer)}; válido de ${valid}` })
  return [...details, { label: 'SHA-256 do certificado', value: said(sha256), machine: true }]
}

/** A proof shows at most so many bytes of the header fields. */
const MAX_HEADER = 16_384
const SIGNATURE = /^dkim-signature:/i

/** The header fields as they were sent, the signature of the domain apart from the others. */
export function explainMessage(bytes: Uint8Array): FactDetail[] {
  const text = Buffer.from(bytes.subarray(0, MAX_HEADER)).toString('latin1')
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length
  const fields = text.slice(0, end).split(/\r?\n(?![ \t])/)
  const signatures = fields.filter(field => SIGNATURE.test(field))
  const others = fields.filter(field => !SIGNATURE.test(field))
  const shown = (list: string[]): string[] => list.flatMap(field => field.split(/\r?\n/).map(line => line.replaceAll('\t', '  ')))
  return [
    signatures.length === 0
      ? { label: 'Assinatura DKIM', value: 'nenhuma: a mensagem saiu sem ela' }
      : { label: 'Assinatura DKIM, como enviada', lines: shown(signatures) },
    { label: 'Cabeçalhos da mensagem, como enviados', lines: shown(others) },
  ]
}
