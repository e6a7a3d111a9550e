import { spawn } from 'node:child_process'
import { createHash, verify, type X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OperatorError } from '../../../domain/errors.js'
import { Semaphore } from '../../../runtime/semaphore.js'
import { chainOf, readCertificate } from '../certificate-facts.js'
import type { SigningKey } from '../cms-writing.js'
import { requireUsable } from './private-key.js'
import type { Pkcs11Location } from './settings.js'

const SETTING = 'SIGNATURE_PKCS11'
const PROGRAM = 'pkcs11-tool'
/** Smart cards take about a second. */
const TIMEOUT_MS = 30_000
const MAX_OUTPUT = 65_536
const MAX_WAITING = 256
/** The PIN is handed over in the environment: arguments are visible to every user of the machine. */
const PIN_VARIABLE = 'CARTEIRO_PKCS11_PIN'

type Run = (args: readonly string[], input: Buffer) => Promise<Buffer>
const NO_INPUT = Buffer.alloc(0)

/**
 * Opens a key that never leaves its token or HSM: the program pkcs11-tool of OpenSC signs with it. `issuers`: certificates of the
 * authorities, which tokens often lack.
 */
export async function openPkcs11(location: Pkcs11Location, issuers: readonly X509Certificate[], now: Date): Promise<SigningKey> {
  const pin = readPin(location.pinFile)
  // Tokens do one thing at a time.
  const turn = new Semaphore({
    permits: 1,
    maxWaiting: MAX_WAITING,
    refusal: () => new Error('too many documents wait for the token'),
  })
  const run: Run = (args, input) => turn.run(() => runTool(location, pin, args, input))
  const { id, certificate } = await findOnToken(location, run)
  requireUsable(certificate, SETTING, now)
  const isRsa = certificate.publicKey.asymmetricKeyType === 'rsa'
  const sign = (bytes: Buffer): Promise<Buffer> =>
    isRsa
      ? run(['--id', id, '--sign', '--mechanism', 'SHA256-RSA-PKCS'], bytes)
      : run(
          ['--id', id, '--sign', '--mechanism', 'ECDSA', '--signature-format', 'openssl'],
          createHash('sha256').update(bytes).digest(),
        )
  await requireSignature(certificate, sign)
  return { certificate, issuers: chainOf(certificate, issuers).slice(1), sign }
}

function readPin(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new OperatorError(`${SETTING}: não foi possível ler o PIN em ${path} (pin-source).`, { cause })
  }
}

/** pkcs11-tool ignores the label of a key when it signs, so the key and its certificate are addressed by their identifier. */
async function findOnToken({ token, object }: Pkcs11Location, run: Run): Promise<{ id: string; certificate: X509Certificate }> {
  try {
    const listed = (await run(['--list-objects', '--type', 'privkey'], NO_INPUT)).toString('utf8')
    const keys = listed.split(/^(?=Private Key Object)/m)
    const attribute = (key: string, name: string): string | undefined => new RegExp(`^ +${name}: +(.*)$`, 'm').exec(key)?.[1]
    const id = attribute(keys.find(key => attribute(key, 'label') === object) ?? '', 'ID')
    if (id === undefined) throw new Error(`the token has no private key ${object} with an identifier`)
    return { id, certificate: readCertificate(await run(['--id', id, '--read-object', '--type', 'cert'], NO_INPUT)) }
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause
    const why = 'Confira module-path, o nome do token, o nome da chave, o PIN e se o certificado está no token com o ID da chave'
    throw new OperatorError(`${SETTING}: não foi possível ler a chave ${object} do token ${token}. ${why}.`, { cause })
  }
}

/** At the start, so that a wrong PIN or a key without its certificate is known before the first document. */
async function requireSignature({ publicKey }: X509Certificate, sign: SigningKey['sign']): Promise<void> {
  const probe = Buffer.from('carteiro')
  const fail = (cause?: unknown): never => {
    throw new OperatorError(`${SETTING}: a chave do token não assina, ou não é a do certificado. Confira object e o PIN.`, {
      cause,
    })
  }
  const signature = await sign(probe).catch(fail)
  if (!verify('sha256', probe, publicKey, signature)) fail()
}

function runTool({ module, token }: Pkcs11Location, pin: string, args: readonly string[], input: Buffer): Promise<Buffer> {
  const place = ['--module', module, '--token-label', token, '--login', '--pin', `env:${PIN_VARIABLE}`]
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, [...place, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      // Modules of vendors find their settings in variables of their own.
      env: { ...process.env, [PIN_VARIABLE]: pin },
    })
    const output: Buffer[] = []
    let said = ''
    let size = 0
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_OUTPUT) output.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-1_000)
    })
    child.stdin.on('error', () => {})
    child.on('error', cause => {
      const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
      const missing = `${SETTING} pede um token PKCS#11, e falta o programa ${PROGRAM} nesta máquina (apt install opensc).`
      reject(isMissing ? new OperatorError(missing) : cause)
    })
    child.on('close', code => {
      if (code === 0) resolve(Buffer.concat(output))
      else reject(new Error(`${PROGRAM} ended with ${code}: ${said.trim()}`))
    })
    child.stdin.end(input)
  })
}
