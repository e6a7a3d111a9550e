import { Type } from 'typebox'
import { refuse } from '../../domain/errors.js'
import type { JsonObject } from '../../domain/notification.js'
import { type BatchState, batchStateNames, batchStates } from '../../domain/send/bulk.js'
import { brazilianIso } from '../../domain/text/dates.js'
import { parseUntrustedJson } from '../../domain/text/json.js'
import { reasonOf } from '../../engine/bulk/acts.js'
import type { Batch } from '../../store/bulk/batches.js'
import type { RefusedLine } from '../../store/bulk/lines.js'
import type { SavedMapping } from '../../store/bulk/mappings.js'
import { isoDate, textOrNull, uuid } from './wire.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const numberOrNull = (description: string) => Type.Unsafe<number | null>({ type: ['integer', 'null'], description })
const dateOrNull = (description: string) => textOrNull(`${description} (ISO 8601, horário de Brasília); null: ainda não.`)

const columnSchema = Type.Object({
  coluna: Type.String({ description: 'O nome da coluna, como o arquivo o tem.' }),
  campos: Type.Array(Type.String({ description: 'Um campo do envio, como nameTo.' }), {
    description: 'Os campos de POST /gw/email que a coluna preenche; vazia: a coluna não é usada.',
  }),
})

export const errorSchema = Type.Object({
  linha: count('O número da linha no arquivo; o cabeçalho é a linha 1.'),
  coluna: textOrNull('A coluna, como o arquivo a chama; null: nenhuma em particular.'),
  erro: Type.String({ description: 'O que há de errado e o que fazer.' }),
})

export const batchMembers = {
  id: uuid('O identificador do lote.'),
  nome: Type.String({ description: 'O nome do lote.' }),
  situacao: Type.Unsafe<BatchState>({
    type: 'string',
    enum: [...batchStates],
    description: `A situação, para programas: ${batchStates.map(state => `${state} (${batchStateNames[state]})`).join(', ')}.`,
  }),
  total: count('Linhas do arquivo, sem o cabeçalho.'),
  conferidas: count('Linhas já conferidas.'),
  boas: count('Linhas que podem ser enviadas.'),
  rejeitadas: count('Linhas que não serão enviadas, por um erro.'),
  aceitas: count('Linhas que já são notificações.'),
  falhas: count('Linhas que eram boas e foram recusadas na hora de enviar.'),
  porMinuto: numberOrNull('Linhas por minuto desde o início ou a última retomada; null: não está em envio.'),
  segundosRestantes: numberOrNull('Segundos que faltam, nesse ritmo; null: não se sabe.'),
  colunas: Type.Array(columnSchema, { description: 'O que cada coluna preenche.' }),
  arquivoSha256: textOrNull('O resumo SHA-256 do arquivo.'),
  criadoEm: isoDate('Recebimento do arquivo'),
  iniciadoEm: dateOrNull('Início do envio'),
  terminadoEm: dateOrNull('Fim'),
  motivo: textOrNull(
    'Por que o lote foi pausado ou cancelado sem que alguém pedisse: o teto do mês foi alcançado, ou o prazo passou. null: não foi o caso.',
  ),
}
export const batchSchema = Type.Object(batchMembers)

export const batchToWire = (batch: Batch) => ({
  id: batch.id,
  nome: batch.name,
  situacao: batch.state,
  total: batch.total,
  conferidas: batch.good + batch.rejected,
  boas: batch.good,
  rejeitadas: batch.rejected,
  aceitas: batch.accepted,
  falhas: batch.failed,
  ...progressOf(batch),
  colunas: batch.columns.map(coluna => ({ coluna, campos: [...(batch.mapping[coluna] ?? [])] })),
  arquivoSha256: batch.sha256,
  criadoEm: brazilianIso(batch.createdAt),
  iniciadoEm: batch.startedAt && brazilianIso(batch.startedAt),
  terminadoEm: batch.finishedAt && brazilianIso(batch.finishedAt),
  motivo: reasonOf(batch),
})

/** The rate since the batch was last started or resumed, and how long the rest takes at it. */
export function progressOf(batch: Batch): { porMinuto: number | null; segundosRestantes: number | null } {
  const { state, recentLines, recentMs, good, accepted, failed } = batch
  if (state !== 'sending' || recentMs === null) return { porMinuto: null, segundosRestantes: null }
  const perMs = recentLines / Math.max(recentMs, 1)
  const left = good - accepted - failed
  return {
    porMinuto: Math.round(perMs * 60_000),
    segundosRestantes: perMs > 0 ? Math.ceil(left / perMs / 1_000) : null,
  }
}

export const errorToWire = ({ line, column, error }: RefusedLine) => ({ linha: line, coluna: column, erro: error })

const free = (description: string) =>
  Type.Optional(Type.Unsafe<JsonObject | null>({ type: ['object', 'null'], additionalProperties: true, description }))

/** What the columns mean and what is the same in all lines. */
export const formSchema = Type.Object({
  mapping: free(
    'O campo do envio que cada coluna preenche: {"Nome completo": "nameTo"}, ou uma lista deles. Ausente: pelos nomes.',
  ),
  base: free('Os campos de POST /gw/email iguais em todas as linhas. Nos textos, {{ Coluna }} dá lugar ao valor da linha.'),
})

export const mappingSchema = Type.Object({
  nome: Type.String({ description: 'O nome do mapeamento.' }),
  mapping: Type.Unsafe<JsonObject | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'O que cada coluna preenche; null: pelos nomes das colunas.',
  }),
  base: Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description: 'O que é igual em todas as linhas.' }),
  alteradoEm: isoDate('Última mudança'),
})

export const mappingToWire = ({ name, mapping, base, updatedAt }: SavedMapping) => ({
  nome: name,
  mapping,
  base,
  alteradoEm: brazilianIso(updatedAt),
})

/** A JSON object in a parameter of the query. */
export function readObject(text: string, code: 'badMapping' | 'badBase'): JsonObject {
  try {
    const value = parseUntrustedJson(Buffer.from(text))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {}
  return refuse(code)
}
