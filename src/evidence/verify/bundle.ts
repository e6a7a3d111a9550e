import { brazilianDate } from '../../domain/text/dates.js'
import { isEqual, utf8 } from './bytes.js'
import { checkEvents } from './events.js'
import { Fault, fault, type Step, steps } from './fault.js'
import { checkFiles } from './files.js'
import { type BundledCheckpoint, checkCheckpoint, checkInclusion, checkWitnesses, readCheckpoint } from './log.js'
import { checkManifest, checkSignature, readKeys } from './manifest.js'
import { readStampedDigest } from './time-stamp.js'
import type { VerifierTools } from './tools.js'
import { type CheckedStep, type StepState, titles, type Verdict } from './verdict.js'
import { type Files, readZip } from './zip.js'

export interface VerifyOptions {
  /** The vkey that the verifier got by another way than the bundle; null: the bundle's own key is used, and the verdict says so. */
  key: string | null
}

/** What the checks found, written down as they go on, so that a fault leaves what was found before it. */
interface Findings {
  steps: CheckedStep[]
  proven: string[]
  unproven: string[]
  notification: string | null
  key: string | null
}

/** Checks a bundle from its bytes alone, in the order of docs/evidence.md, up to the first thing that does not hold. */
export async function verifyBundle(bytes: Uint8Array, options: VerifyOptions, tools: VerifierTools): Promise<Verdict> {
  const found: Findings = { steps: [], proven: [], unproven: [], notification: null, key: null }
  try {
    await checkAll(bytes, options, tools, found)
    const { steps: checked, ...rest } = found
    return { holds: true, steps: checked, fault: null, ...rest }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { step, subject, message } = error
    const broken: CheckedStep = { step, title: titles[step], state: 'broken', detail: message }
    const rest = steps.slice(steps.indexOf(step) + 1)
    const skipped = rest.map(name => ({
      step: name,
      title: titles[name],
      state: 'skipped' as const,
      detail: 'Não se chegou a esta conferência.',
    }))
    const { notification, key } = found
    return {
      holds: false,
      notification,
      key,
      steps: [...found.steps, broken, ...skipped],
      fault: { step, subject, message },
      proven: [],
      unproven: ['Nada do que está no arquivo fica provado por ele enquanto algo não confere.'],
    }
  }
}

async function checkAll(bytes: Uint8Array, options: VerifyOptions, tools: VerifierTools, found: Findings): Promise<void> {
  const pass = (step: Step, detail: string, state: StepState = 'holds'): void => {
    found.steps.push({ step, title: titles[step], state, detail })
  }
  const files = readZip(bytes)
  pass('zip', `${files.size} arquivos, sem um byte a mais ou a menos.`)
  const notification = await checkManifest(files, tools)
  found.notification = notification
  pass('manifest', 'Cada arquivo é o que a lista descreve, e não há outros.')

  const keys = await readKeys(files, tools)
  found.key = keys.log.vkey
  if (options.key !== null && options.key !== keys.log.vkey)
    throw fault('signature', 'keys.json', 'O pacote não é do registro que você indicou: a chave em keys.json é outra.')
  const signed = await checkSignature(files, notification, keys.log, tools)
  const canSign = tools.verifyEd25519 !== null
  pass(
    'signature',
    canSign
      ? `Assinado por ${keys.log.name} em ${shown(signed.at)}.`
      : 'Este navegador não confere assinaturas Ed25519: a assinatura não foi conferida.',
    canSign ? 'holds' : 'partial',
  )
  const events = await checkEvents(files, notification, tools)
  const erased = events.filter(({ isErased }) => isErased).map(({ seq }) => seq)
  pass(
    'events',
    `${events.length} eventos, de ${shown(events[0]!.at)} a ${shown(events.at(-1)!.at)}, cada um ligado ao anterior.`,
  )
  found.proven.push(
    'Os eventos estão completos até o último do pacote, na ordem em que foram registrados, e nenhum foi alterado.',
  )
  if (erased.length > 0)
    found.unproven.push(
      `Sem os dados, apagados ou reservados: ${spans(erased)}. Provam-se o tipo, a data e a ordem, não o que diziam.`,
    )
  const tied = await checkFiles(files, events, tools)
  pass(
    'files',
    fileDetail(tied.tied.length, tied.untied.length),
    tied.tied.length + tied.untied.length === 0 ? 'absent' : 'holds',
  )
  if (tied.tied.length > 0)
    found.proven.push(`Estes arquivos são, byte por byte, os que os eventos registraram: ${tied.tied.join(', ')}.`)
  if (tied.untied.length > 0)
    found.unproven.push(
      `Os dados do evento que os registrou não estão no pacote, e a cadeia não prova estes arquivos: ${tied.untied.join(', ')}.`,
    )
  if (tied.absent.length > 0) found.unproven.push(`Registrado na cadeia e ausente do pacote: ${tied.absent.join('; ')}.`)
  for (const { seq, bytes: hidden } of tied.hidden)
    found.unproven.push(
      `No conteúdo do evento ${seq}, asteriscos estão no lugar de ${hidden} bytes que só o destinatário pode conhecer (o código do link); a cadeia tem um compromisso com eles.`,
    )

  if (files.has('checkpoint.txt')) await checkLog(files, { events, keys }, tools, found, pass)
  else {
    for (const step of ['inclusion', 'checkpoint', 'witnesses', 'time-stamps'] as const)
      pass(step, 'O pacote ainda não tem checkpoint.', 'absent')
    found.unproven.push(
      'O pacote foi feito antes do primeiro checkpoint: que os eventos existiam em certa data é só palavra de quem o assinou.',
    )
  }
  await checkDocuments(files, keys.certificates, tools, found, pass)
  if (!canSign)
    found.unproven.push(
      'As assinaturas não foram conferidas, porque este navegador não tem Ed25519. Confira com outro navegador ou com: carteiro verify',
    )
  if (options.key === null)
    found.unproven.push(
      `De quem é a chave que assinou (${keys.log.vkey}): ela veio no próprio pacote. Compare-a com a que o remetente publica, ou informe-a com --key.`,
    )
  found.unproven.push(
    'O que terceiros afirmam: a cadeia prova que cada fato foi registrado assim e quando, não que a operadora ou a pessoa disse a verdade.',
  )
}

type Pass = (step: Step, detail: string, state?: StepState) => void
type Chain = { events: Awaited<ReturnType<typeof checkEvents>>; keys: Awaited<ReturnType<typeof readKeys>> }

async function checkLog(files: Files, { events, keys }: Chain, tools: VerifierTools, found: Findings, pass: Pass): Promise<void> {
  const checkpoint = readCheckpoint(files)
  const covered = await checkInclusion(files, events, checkpoint, tools)
  pass('inclusion', `No registro de ${checkpoint.origin}, de ${checkpoint.size} eventos: ${spans([...covered])}.`)
  const canSign = tools.verifyEd25519 !== null
  await checkCheckpoint(checkpoint, keys, tools)
  pass(
    'checkpoint',
    canSign ? `Assinado em ${shown(checkpoint.at)}.` : 'A assinatura não foi conferida (falta Ed25519).',
    canSign ? 'holds' : 'partial',
  )
  const later = events.map(({ seq }) => seq).filter(seq => !covered.has(seq))
  if (later.length > 0)
    found.unproven.push(
      `Depois deste checkpoint: ${spans(later)}. Respondem por isso a cadeia e a assinatura do pacote, ainda não o registro.`,
    )
  const witnessed = await checkWitnesses(checkpoint, keys, tools)
  const { names, unknown, check } = witnessed
  const strangers = unknown.length === 0 ? '' : ` Sem chave para conferir: ${unknown.join(', ')}.`
  if (names.length === 0) pass('witnesses', `Nenhuma testemunha conhecida assinou este checkpoint.${strangers}`, 'absent')
  else pass('witnesses', `Também assinado por ${names.join(', ')}.${strangers}`, check === 'holds' ? 'holds' : 'partial')
  const stamps = await checkTimeStamps(files, checkpoint, tools, pass)
  if (stamps.length > 0 && tools.verifyTimeStamp === null)
    found.unproven.push(
      `A data dos carimbos do tempo deste checkpoint (${stamps.join('; ')}): a assinatura de quem carimbou não se confere aqui. Confira com: carteiro verify`,
    )
  else if (stamps.length > 0) {
    found.proven.push(`Já existiam, como estão, quando foram carimbados (${stamps.join('; ')}): ${spans([...covered])}.`)
    found.unproven.push(
      'Quem carimbou: o certificado da autoridade veio no próprio carimbo, e qualquer um pode fazer uma autoridade com esse nome. Compare-o com o que ela publica (openssl ts -verify -CAfile).',
    )
  } else
    found.unproven.push(
      `A data do registro (${shown(checkpoint.at)}) é do relógio de quem assinou: não há carimbo do tempo de terceiro.`,
    )
}

/** RFC 3161 tokens are about the text of the checkpoint, without its signatures. */
async function checkTimeStamps(files: Files, { note }: BundledCheckpoint, tools: VerifierTools, pass: Pass): Promise<string[]> {
  const step = 'time-stamps'
  const digest = await tools.sha256(utf8(note.text))
  const found: string[] = []
  for (const [path, token] of files) {
    if (!path.startsWith('time-stamps/')) continue
    const stamped = readStampedDigest(token)
    if (stamped === null) throw fault(step, path, `${path} não é um carimbo do tempo (RFC 3161, SHA-256).`)
    if (!isEqual(stamped.digest, digest)) throw fault(step, path, `O carimbo do tempo ${path} é de outro checkpoint.`)
    const checked = await tools.verifyTimeStamp?.(token, digest)
    if (checked?.problem != null) throw fault(step, path, `O carimbo do tempo ${path} não confere: ${checked.problem}`)
    found.push(`${shown(stamped.at)}${checked?.authority == null ? '' : ` por ${checked.authority}`}`)
  }
  const isPartial = tools.verifyTimeStamp === null
  if (found.length === 0) pass(step, 'O checkpoint não tem carimbo do tempo.', 'absent')
  else if (isPartial)
    pass(step, `${found.join('; ')}. Aqui se confere só o hash carimbado; a assinatura, com: carteiro verify`, 'partial')
  else pass(step, `${found.join('; ')}.`)
  return found
}

async function checkDocuments(
  files: Files,
  certificates: readonly string[],
  tools: VerifierTools,
  found: Findings,
  pass: Pass,
): Promise<void> {
  const step = 'documents'
  const details: string[] = []
  for (const [path, pdf] of files) {
    if (!path.startsWith('documents/')) continue
    const checked = await tools.verifyDocument?.(pdf, certificates)
    if (checked?.problem != null) throw fault(step, path, `A assinatura de ${path} não confere: ${checked.problem}`)
    details.push(checked === undefined ? path : `${path}: ${checked.found}`)
  }
  if (details.length === 0) return pass(step, 'O pacote não traz documentos.', 'absent')
  if (tools.verifyDocument !== null) return pass(step, details.join(' '))
  found.unproven.push(
    `As assinaturas dos documentos (${details.join(', ')}) não se conferem aqui; use carteiro verify ou um leitor de PDF.`,
  )
  pass(step, `${details.join(', ')}: assinaturas não conferidas aqui.`, 'partial')
}

/** For people, who read it in Brasília's time. */
const shown = (moment: string | Date): string => `${brazilianDate(new Date(moment))} de Brasília`

/** 1, 2, 3, 5 → "eventos 1 a 3, 5" */
function spans(numbers: readonly number[]): string {
  const found: [number, number][] = []
  for (const number of numbers) {
    const last = found.at(-1)
    if (last?.[1] === number - 1) last[1] = number
    else found.push([number, number])
  }
  const named = found.map(([from, to]) => (from === to ? String(from) : `${from} a ${to}`)).join(', ')
  return `${numbers.length === 1 ? 'evento' : 'eventos'} ${named}`
}

const fileDetail = (tied: number, untied: number): string => {
  if (tied + untied === 0) return 'O pacote não traz conteúdo, anexos nem gravações.'
  const unlinked = untied === 0 ? '' : ` ${untied} não se podem ligar à cadeia, porque dados foram apagados.`
  return `${tied} arquivos têm o hash que a cadeia registrou.${unlinked}`
}
