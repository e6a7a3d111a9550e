import { brandName, senderLines } from '../../domain/send/sender.js'
import { brazilianDate } from '../../domain/text/dates.js'
import type { EvidenceSubject } from '../../store/evidence/subjects.js'

export interface ReadmeFacts {
  subject: EvidenceSubject
  events: number
  origin: string
  vkey: string
  isSimulated: boolean
  hasCheckpoint: boolean
}

/** LEIA-ME.txt: what the bundle is and how to check it, for a person that has nothing else. */
export const readme = ({
  subject,
  events,
  origin,
  vkey,
  isSimulated,
  hasCheckpoint,
}: ReadmeFacts): string => `PACOTE DE EVIDÊNCIAS DE UMA NOTIFICAÇÃO
${isSimulated ? '\nSIMULADO: ao menos um canal desta notificação foi entregue por um simulador, e não a uma pessoa.\n' : ''}
Notificação   ${subject.id}
Remetente     ${[brandName(subject.settings, subject.accountName), ...senderLines(subject.settings)].join('; ')}
Aceita em     ${brazilianDate(subject.acceptedAt)} (horário de Brasília)
Eventos       ${events}
Registro      ${origin}
Chave         ${vkey}

O QUE HÁ AQUI

events.json      tudo o que aconteceu, em ordem; cada evento traz o hash do anterior
status.json      resumo da situação de cada canal
content/         o conteúdo, como foi pedido e como saiu
attachments/     os anexos
recordings/      as gravações de ligações
documents/       comprovante e laudo em PDF, assinados
${
  hasCheckpoint
    ? `checkpoint.txt   o checkpoint: a raiz, assinada, do registro de todos os eventos
log.json         a prova de que cada evento está nesse registro
time-stamps/     carimbos do tempo (RFC 3161) do checkpoint
`
    : ''
}keys.json        as chaves públicas com que se confere
manifest.json    a lista dos arquivos, com tamanho e SHA-256
manifest.sig     a assinatura da lista

COMO CONFERIR, SEM CONFIAR EM QUEM ENVIOU

1. Na página /verificar do remetente, solte este arquivo: ele é conferido no seu navegador e não é enviado a ninguém.
2. Ou, sem rede nem banco de dados: carteiro verify ARQUIVO.zip
3. Ou com ferramentas comuns: o formato e cada conferência estão em docs/evidence.md do Carteiro, com exemplos; bastam SHA-256,
   Ed25519 e o openssl.

Compare a chave acima com a que o remetente publica: um pacote inteiro, feito com outra chave, também seria coerente.
Não altere nem recomprima este arquivo: qualquer byte diferente é apontado na conferência.
`
