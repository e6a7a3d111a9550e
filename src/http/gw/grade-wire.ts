import { Type } from 'typebox'
import { type Grade, gradeLabels, gradeWords, labelSignal } from '../../domain/evidence/grade.js'

/** Who answers for an event, as the API shows it. */
export const proofSchema = Type.Object(
  {
    grau: Type.Unsafe<string>({
      type: 'string',
      enum: gradeWords.map(word => gradeLabels[word].wire),
      description: 'De quem é a palavra, para programas.',
    }),
    descricao: Type.String({ description: 'O mesmo, para pessoas.', examples: ['Operadora'] }),
    sinaisDeMaquina: Type.Optional(
      Type.Array(Type.String(), { description: 'Por que o acesso é tido como o de um programa; ausente se nada o indica.' }),
    ),
    simulado: Type.Optional(Type.Boolean({ description: 'true: veio do simulador, e nada disso aconteceu no mundo.' })),
  },
  { description: 'O que o evento prova.' },
)

export const gradeToWire = ({ word, automated }: Grade, simulated: boolean) => ({
  grau: gradeLabels[word].wire,
  descricao: gradeLabels[word].short,
  ...(automated === null ? {} : { sinaisDeMaquina: automated.map(labelSignal) }),
  ...(simulated ? { simulado: true } : {}),
})
