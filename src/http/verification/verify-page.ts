import { verifyBundle } from '../../evidence/verify/bundle.js'
import type { Step } from '../../evidence/verify/fault.js'
import type { VerifierTools } from '../../evidence/verify/tools.js'
import type { StepState, Verdict } from '../../evidence/verify/verdict.js'
import { looksLikeZip } from '../../evidence/verify/zip.js'

/** Runs in the browser of whoever checks a bundle: the file is read and checked there, and sent nowhere. */

/** As much of a browser's page as is used here: the compiler of the rest of the program has none. */
interface Element {
  textContent: string
  className: string
  hidden: boolean
  value: string
  readonly dataset: Record<string, string | undefined>
  readonly files: ArrayLike<DroppedFile> | null
  append(...children: (Element | string)[]): void
  replaceChildren(...children: (Element | string)[]): void
  setAttribute(name: string, value: string): void
  addEventListener(type: string, listener: (event: DroppedEvent) => void): void
  focus(): void
}
interface DroppedFile {
  name: string
  size: number
  arrayBuffer(): Promise<ArrayBuffer>
}
interface DroppedEvent {
  preventDefault(): void
  dataTransfer?: { files: ArrayLike<DroppedFile> } | null
}
interface PageDocument {
  getElementById(id: string): Element | null
  createElement(name: string): Element
}
const page = (globalThis as unknown as { document: PageDocument }).document

/** Larger files would not fit into the memory of a phone's browser. */
const MAX_BYTES = 1_073_741_824

const input = page.getElementById('arquivo')!
const zone = page.getElementById('soltar')!
const result = page.getElementById('resultado')!

const element = (name: string, className: string, ...children: (Element | string)[]): Element => {
  const made = page.createElement(name)
  if (className !== '') made.className = className
  made.append(...children)
  return made
}

/** null: the browser computes no hashes here, which it refuses on pages without https. */
async function openTools(): Promise<VerifierTools | null> {
  const subtle = globalThis.crypto?.subtle
  if (subtle === undefined) return null
  const sha256 = async (bytes: Uint8Array) => new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>))
  const importKey = (key: Uint8Array) => subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, 'Ed25519', false, ['verify'])
  // The key is Ed25519's base point: any valid one shows whether the browser knows the algorithm.
  const hasEd25519 = await importKey(Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? 0x58 : 0x66))).then(
    () => true,
    () => false,
  )
  return {
    sha256,
    verifyEd25519: hasEd25519
      ? async (key, message, signature) => {
          const [bytes, text] = [signature as Uint8Array<ArrayBuffer>, message as Uint8Array<ArrayBuffer>]
          return subtle.verify('Ed25519', await importKey(key), bytes, text)
        }
      : null,
    verifyTimeStamp: null,
    verifyDocument: null,
  }
}

const words: Readonly<Record<StepState, string>> = {
  holds: 'Confere',
  partial: 'Confere em parte',
  absent: 'Não há',
  broken: 'Não confere',
  skipped: 'Não conferido',
}

function show(kind: 'good' | 'bad' | 'plain', title: string, ...body: Element[]): void {
  const notice = element('div', kind === 'good' ? 'notice good' : kind === 'bad' ? 'notice' : 'notice plain')
  const heading = element('h2', '', title)
  heading.setAttribute('tabindex', '-1')
  notice.append(heading, ...body.slice(0, 1))
  result.replaceChildren(notice, ...body.slice(1))
  result.hidden = false
  heading.focus()
}

const paragraph = (text: string): Element => element('p', '', text)
const list = (title: string, items: readonly string[]): Element[] =>
  items.length === 0 ? [] : [element('h2', '', title), element('ul', '', ...items.map(item => element('li', '', item)))]

/** Without these the page does not say that everything holds. */
const UNCHECKED: readonly { of: readonly Step[]; message: string }[] = [
  {
    of: ['signature', 'checkpoint'],
    message: 'Este navegador não confere assinaturas Ed25519; use outro, ou o comando carteiro verify.',
  },
  {
    of: ['time-stamps'],
    message: 'Navegadores não conferem a assinatura dos carimbos do tempo; o comando carteiro verify a confere.',
  },
]

function showVerdict(name: string, verdict: Verdict): void {
  const steps = verdict.steps.map(({ title, state, detail }) =>
    element('li', `step ${state}`, element('strong', '', `${words[state]}: ${title}. `), detail),
  )
  const isOurs = verdict.key === zone.dataset.key
  const key =
    verdict.key === null
      ? []
      : [
          paragraph(
            isOurs
              ? 'A chave do pacote é a deste site.'
              : 'A chave do pacote não é a deste site: compare-a com a que o remetente publica.',
          ),
        ]
  const unproven = isOurs ? verdict.unproven.filter(text => !text.startsWith('De quem é a chave')) : verdict.unproven
  const unchecked = UNCHECKED.find(({ of }) => verdict.steps.some(({ step, state }) => state === 'partial' && of.includes(step)))
  const isPartial = unchecked !== undefined
  const title = verdict.fault !== null ? 'Algo não confere' : isPartial ? 'O que se pôde conferir está certo' : 'Tudo confere'
  const message = verdict.fault?.message ?? unchecked?.message ?? 'O arquivo está inteiro, e nada nele foi alterado.'
  show(
    verdict.fault !== null ? 'bad' : isPartial ? 'plain' : 'good',
    title,
    paragraph(message),
    element('p', 'code', name),
    ...(verdict.notification === null ? [] : [element('p', 'code', `Notificação ${verdict.notification}`)]),
    ...key,
    element('h2', '', 'O que foi conferido, em ordem'),
    element('ol', 'steps', ...steps),
    ...list('Fica provado', verdict.proven),
    ...list('Não fica provado', unproven),
  )
}

async function check(file: DroppedFile): Promise<void> {
  show('plain', 'Conferindo…', paragraph(file.name))
  const tools = await openTools()
  if (tools === null)
    return show(
      'bad',
      'Este navegador não pode conferir aqui',
      paragraph(
        'Ele só calcula hashes em páginas com https. Abra esta página por https, ou confira com o comando carteiro verify.',
      ),
    )
  if (file.size > MAX_BYTES)
    return show('bad', 'O arquivo é grande demais para o navegador', paragraph('Confira-o com o comando carteiro verify.'))
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (!looksLikeZip(bytes))
    return show(
      'bad',
      'Este arquivo não é um pacote de evidências',
      paragraph(
        'Solte o arquivo .zip. Um PDF se confere num leitor de PDF que mostre assinaturas, ou com o comando carteiro verify.',
      ),
    )
  showVerdict(file.name, await verifyBundle(bytes, { key: null }, tools))
}

const start = (files: ArrayLike<DroppedFile> | null | undefined): void => {
  const file = files?.[0]
  if (file !== undefined)
    check(file).catch(() =>
      show('bad', 'O arquivo não pôde ser lido', paragraph('Escolha-o de novo. Se ele está na nuvem, baixe-o antes.')),
    )
}

zone.hidden = false
page.getElementById('sem-script')!.hidden = true
input.addEventListener('change', () => {
  start(input.files)
  input.value = ''
})
zone.addEventListener('dragover', event => {
  event.preventDefault()
  zone.className = 'drop over'
})
zone.addEventListener('dragleave', () => {
  zone.className = 'drop'
})
zone.addEventListener('drop', event => {
  event.preventDefault()
  zone.className = 'drop'
  start(event.dataTransfer?.files)
})
