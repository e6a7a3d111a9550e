import { type GradeWord, gradeLabels } from '../../domain/evidence/grade.js'
import type { Section } from './sections.js'

/** What a certificate is, for the documents that it signs. */
export interface CertificateNote {
  subject: string
  issuer: string
  validFrom: Date
  validTo: Date
  sha256: string
  selfMade: boolean
  icpBrasil: boolean
}

/** From what proves most about the recipient to what proves least. */
const ORDER: readonly GradeWord[] = ['reply', 'answer', 'device', 'signed carrier', 'carrier', 'gateway', 'operator', 'sender']

/** What each grade supports, with caution: a judge weighs the evidence. */
const WEIGHT: Readonly<Record<GradeWord, string>> = {
  reply:
    'Costuma ser o indício mais forte de ciência, porque há uma manifestação. A autoria pode ser discutida: outra pessoa pode usar o contato.',
  answer:
    'Indício forte de que leu quem conhece a resposta. O remetente também a conhece, mas não o link; acessos da rede dele não recebem este grau.',
  device: 'Indício de leitura na caixa ou no aparelho do destinatário. Não diz quem estava diante dele.',
  'signed carrier':
    'Declaração de terceiro com integridade conferida. Prova o que a operadora declarou; a entrega é conforme os critérios dela.',
  carrier:
    'Declaração de terceiro sem assinatura, recebida por canal autenticado. Pode ser confirmada com a operadora pela referência.',
  gateway: 'Registro de quem presta o serviço de envio. Prova o envio e suas circunstâncias; sozinho, não prova ciência.',
  operator: 'Declaração de uma pessoa da operação, com data e autor no registro.',
  sender: 'Não deve ser usado como prova de ato do destinatário.',
}

export const gradeNotes = (): Section[] => [
  {
    kind: 'paragraph',
    text: 'Cada evento deste laudo diz de quem é a palavra. Quanto mais acima na tabela, mais o evento diz sobre o próprio destinatário. Um acesso com sinais de ser de um programa (verificadores de links, imagens carregadas de antemão) é mostrado com os sinais e não conta como leitura.',
  },
  {
    kind: 'table',
    columns: [4, 8, 8],
    head: ['De quem é a palavra', 'O que prova', 'Peso, com cautela'],
    rows: ORDER.map(word => [
      { text: gradeLabels[word].short, strong: true },
      { text: gradeLabels[word].proves },
      { text: WEIGHT[word] },
    ]),
  },
]

const LAW: readonly (readonly [string, string])[] = [
  [
    'Meios de prova',
    'Admitem-se todos os meios legais e os moralmente legítimos (CPC, art. 369). O documento eletrônico não convertido à forma impressa é apreciado pelo juiz, assegurado às partes o acesso ao seu teor (CPC, art. 440); os produzidos e conservados na forma da lei são admitidos (CPC, art. 441). Convertido à forma impressa, depende da verificação de sua autenticidade (CPC, art. 439): para isso servem os passos deste laudo.',
  ],
  [
    'Autenticidade',
    'Considera-se autêntico o documento quando a autoria estiver identificada por meio legal de certificação, inclusive eletrônico, ou quando não houver impugnação de quem o recebe em juízo (CPC, art. 411, II e III). As reproduções eletrônicas fazem prova se a parte contra quem forem exibidas não lhes impugnar a exatidão (CC, art. 225; CPC, art. 422).',
  ],
  [
    'Assinaturas eletrônicas',
    'Documentos assinados com certificado ICP-Brasil presumem-se verdadeiros em relação aos signatários (MP 2.200-2/2001, art. 10, § 1º). Outros meios valem se admitidos pelas partes ou aceitos por quem recebe o documento (art. 10, § 2º). A Lei 14.063/2020, art. 4º, distingue assinaturas simples, avançadas e qualificadas; só a qualificada usa certificado ICP-Brasil.',
  ],
  [
    'Dados pessoais',
    'Este laudo contém dados pessoais. Seu uso em processo apoia-se no exercício regular de direitos (LGPD, Lei 13.709/2018, art. 7º, VI); guarde-o e compartilhe-o só para isso. Dados apagados a pedido ou por prazo não aparecem, e a cadeia continua conferindo sem eles.',
  ],
  [
    'Limites',
    'Este documento é feito por programa a partir dos registros; não é perícia judicial nem parecer jurídico. Se a notificação produz o efeito pretendido depende da lei e do contrato de cada caso.',
  ],
]

export const lawNotes = (): Section => ({ kind: 'facts', roomy: true, rows: LAW.map(([label, value]) => ({ label, value })) })

/** How the document is signed, in a sentence; never more than the certificate is. */
export function signatureNote(certificate: CertificateNote): string {
  if (certificate.icpBrasil) return 'Este PDF é assinado com um certificado da ICP-Brasil.'
  if (certificate.selfMade)
    return 'Este PDF é assinado com um certificado próprio desta instalação, fora da ICP-Brasil: confira a impressão digital dele.'
  return 'Este PDF é assinado com um certificado fora da ICP-Brasil.'
}
