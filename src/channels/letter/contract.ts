import { Type } from 'typebox'
import { describe } from '../../domain/delivery/status.js'
import { freeObject, optionalObject, optionalText } from '../../domain/schema.js'
import { dateOrAbsent } from '../../domain/text/dates.js'
import type { ChannelContract } from '../channel-contract.js'
import { atMost, readVariables } from '../request-part.js'
import { dateOnceHappened, failed, failureReason, failureReasonOf, situation, textOnceKnown } from '../status-schema.js'
import { letter, proofDocument } from './channel.js'

/** More than an envelope has room for. The recipient is indexed, and an entry of an index has a limit. */
const MAX_NAME_CHARACTERS = 255

type LetterPart = Partial<Record<'name' | 'modelo' | 'template', string | null>> & { variables?: Record<string, unknown> | null }

export const letterContract: ChannelContract = {
  part: {
    member: 'carta',
    schema: optionalObject(
      {
        name: optionalText({ description: `Nome no envelope, até ${MAX_NAME_CHARACTERS} caracteres. Ausente: nameTo.` }),
        modelo: optionalText({
          description: 'registrada ou simples; padrao é outro nome de simples, o modelo de quem não informa nenhum.',
        }),
        template: optionalText({ description: 'Template da carta (id, templateId ou nome). Sem ele, a carta imprime content.' }),
        variables: freeObject({ description: 'Endereço e variáveis do template: textos, números, true ou false.' }),
      },
      { description: 'A carta deste envio.' },
    ),
    read: ({ name = null, modelo = null, template = null, variables }: LetterPart) => ({
      recipient: atMost(name, MAX_NAME_CHARACTERS, 'carta.name'),
      request: { model: modelo, template, variables: readVariables(variables, 'carta.variables') },
      template,
      turn: 'sequence',
    }),
  },
  form: [
    {
      path: 'carta.variables.cep',
      kind: 'text',
      pt: 'CEP',
      en: 'Postcode',
      example: '01310-100',
      required: true,
      columns: ['cep', 'código postal', 'postcode'],
    },
    {
      path: 'carta.variables.logradouro',
      kind: 'text',
      pt: 'Rua',
      en: 'Street',
      example: 'Avenida Paulista',
      required: true,
      columns: ['logradouro', 'rua', 'endereço', 'street'],
    },
    {
      path: 'carta.variables.numero',
      kind: 'text',
      pt: 'Número',
      en: 'Number',
      example: '1000',
      required: true,
      columns: ['número do endereço', 'número da casa', 'nº', 'num'],
    },
    {
      path: 'carta.variables.complemento',
      kind: 'text',
      pt: 'Complemento',
      en: 'Unit',
      example: 'apto 12',
      columns: ['complemento', 'compl'],
    },
    {
      path: 'carta.variables.bairro',
      kind: 'text',
      pt: 'Bairro',
      en: 'District',
      example: 'Bela Vista',
      columns: ['bairro', 'district'],
    },
    {
      path: 'carta.variables.cidade',
      kind: 'text',
      pt: 'Cidade',
      en: 'City',
      example: 'São Paulo',
      required: true,
      columns: ['cidade', 'município', 'city'],
    },
    {
      path: 'carta.variables.uf',
      kind: 'text',
      pt: 'UF',
      en: 'State',
      example: 'SP',
      required: true,
      columns: ['uf', 'estado', 'state'],
    },
    {
      path: 'carta.modelo',
      kind: 'choice',
      pt: 'Modelo',
      en: 'Kind',
      choices: [
        { value: '', pt: 'Simples', en: 'Plain' },
        { value: 'registrada', pt: 'Registrada', en: 'Registered' },
      ],
    },
  ],
  status: {
    summary: 'Situação da carta',
    schema: Type.Object({
      description: situation,
      error: failed,
      dateProcessing: dateOnceHappened('Processamento'),
      datePreparation: dateOnceHappened('Preparação'),
      dateSent: dateOnceHappened('Postagem'),
      dateDelivery: dateOnceHappened('Entrega'),
      sro: textOnceKnown('Código de rastreamento, desde que os Correios o informam'),
      linkSvcCartaComprovante: textOnceKnown('Comprovante em PDF, desde o processamento'),
      linkArCartaComprovante: textOnceKnown('O mesmo endereço, pelo nome que clientes existentes leem'),
      linkRastreio: textOnceKnown('Página de rastreamento, desde que há sro'),
      failureReason,
    }),
    from(status, documentUrl) {
      const proof = status.processedAt === null ? undefined : documentUrl(proofDocument, status.notification)
      const code = status.trackingCode ?? undefined
      return {
        description: describe(status, letter),
        error: status.failure !== null,
        dateProcessing: dateOrAbsent(status.processedAt),
        datePreparation: dateOrAbsent(status.preparedAt),
        dateSent: dateOrAbsent(status.sentAt),
        dateDelivery: dateOrAbsent(status.deliveredAt),
        sro: code,
        linkSvcCartaComprovante: proof,
        linkArCartaComprovante: proof,
        linkRastreio: code === undefined ? undefined : trackingLink(code),
        ...failureReasonOf(status, letter),
      }
    },
  },
  readContact: text => text,
  contactKind: 'um nome',
}

const trackingLink = (code: string): string =>
  `https://rastreamento.correios.com.br/app/index.php?objetos=${encodeURIComponent(code)}`
