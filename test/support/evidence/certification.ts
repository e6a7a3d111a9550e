import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certification authority played by openssl, in a folder of its own: issues what signatures and time-stamps are tested with. */
export interface Certification {
  folder: string
  /** The authority's own certificate, in PEM. */
  caFile: string
  issue(wanted: Wanted): { certFile: string; keyFile: string }
  /** Runs openssl in the folder. */
  openssl(...args: string[]): Buffer
  remove(): void
}

interface Wanted {
  /** The files' name. */
  name: string
  /** As openssl writes it: '/O=…/CN=…'. */
  subject?: string
  key?: 'ec' | 'rsa'
  /** Lines of an extension section. */
  extensions?: readonly string[]
  /** Days from now; negative: expired. */
  days?: number
  /** Issued by itself instead. */
  selfSigned?: boolean
}

const SIGNS = ['keyUsage = critical, digitalSignature, nonRepudiation', 'basicConstraints = CA:FALSE']
const NEW_KEY = { ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'], rsa: ['-newkey', 'rsa:2048'] }

export function createCertification(subject = '/C=BR/O=Teste/CN=AC de teste'): Certification {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-certification-'))
  const path = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const make = (name: string, who: string, key: 'ec' | 'rsa', extensions: readonly string[], days: number, ca: boolean): void => {
    const lines = ['[req]', 'distinguished_name = dn', 'x509_extensions = own', 'string_mask = utf8only', '[dn]', '[own]']
    writeFileSync(path(`${name}.cnf`), [...lines, ...extensions, ''].join('\n'))
    const request = ['req', '-config', `${name}.cnf`, '-utf8', '-nodes', ...NEW_KEY[key], '-keyout', `${name}.key`, '-subj', who]
    if (ca) {
      openssl(...request, '-x509', '-days', String(days), '-out', `${name}.pem`)
      return
    }
    openssl(...request, '-new', '-out', `${name}.csr`)
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.cnf`, '-extensions', 'own']
    openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-days', String(days), '-out', `${name}.pem`)
  }
  make('ca', subject, 'ec', ['basicConstraints = critical, CA:TRUE', 'keyUsage = critical, keyCertSign, cRLSign'], 3_650, true)
  return {
    folder,
    caFile: path('ca.pem'),
    issue({ name, subject: who = `/C=BR/O=Teste/CN=${name}`, key = 'ec', extensions = SIGNS, days = 365, selfSigned = false }) {
      make(name, who, key, extensions, days, selfSigned)
      return { certFile: path(`${name}.pem`), keyFile: path(`${name}.key`) }
    },
    openssl,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
