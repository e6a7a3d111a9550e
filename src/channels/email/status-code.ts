/**
 * Explanations of enhanced status codes (RFC 3463), by subject and detail; the class (2, 4 or 5) gives only the outcome. SMTP
 * replies and delivery reports use the same codes.
 */
const reasons: Record<string, string> = {
  '1.0': 'O endereço do destinatário tem um problema.',
  '1.1': 'O endereço do destinatário não existe.',
  '1.2': 'O domínio do destinatário não existe ou não recebe e-mails.',
  '1.3': 'O endereço do destinatário não é aceito pelo servidor dele.',
  '1.6': 'O destinatário mudou de endereço.',
  '1.7': 'O servidor de e-mail recusou o remetente.',
  '1.8': 'O servidor de e-mail recusou o remetente.',
  '1.10': 'O domínio do destinatário declara que não recebe e-mails.',
  '2.0': 'A caixa postal do destinatário tem um problema.',
  '2.1': 'A caixa postal do destinatário está desativada.',
  '2.2': 'A caixa postal do destinatário está cheia.',
  '2.3': 'A mensagem é grande demais para a caixa postal do destinatário.',
  '3.1': 'O servidor de e-mail está sem espaço.',
  '3.2': 'O servidor de e-mail não está aceitando mensagens.',
  '3.4': 'A mensagem é grande demais para o servidor de e-mail.',
  '4.1': 'O servidor do destinatário não respondeu.',
  '4.2': 'A conexão com o servidor do destinatário falhou.',
  '4.3': 'O domínio do destinatário não pôde ser consultado.',
  '4.4': 'Não há caminho até o servidor do destinatário.',
  '4.5': 'O servidor de e-mail está congestionado.',
  '4.6': 'A mensagem ficou em círculos entre servidores.',
  '4.7': 'O prazo de entrega do servidor de e-mail acabou.',
  '5.3': 'O servidor de e-mail recusou mais destinatários.',
  '6.7': 'O servidor de e-mail não aceita endereços com letras fora do ASCII.',
  '7.0': 'O servidor recusou a mensagem por segurança.',
  '7.1': 'O servidor recusou a mensagem por suas regras.',
  '7.20': 'O servidor não achou assinatura DKIM que valesse.',
  '7.23': 'O servidor recusou o remetente: SPF não confere.',
  '7.25': 'O servidor recusou o endereço de envio: DNS reverso não confere.',
  '7.26': 'O servidor recusou a mensagem: autenticação do remetente (SPF, DKIM) não confere.',
  '7.27': 'O servidor recusou o domínio do remetente, que não recebe e-mails.',
}

export function reasonOfStatus(status: string | null): string | null {
  const detail = /^[245]\.(\d{1,3}\.\d{1,3})$/.exec(status ?? '')?.[1]
  return detail === undefined ? null : (reasons[detail] ?? null)
}

/** RFC 3463: the mailbox does not exist, has moved or is disabled. These codes never concern a domain, a route or a policy. */
export const isMailboxGone = (status: string | null): boolean => status !== null && /^5\.(1\.[16]|2\.1)$/.test(status)

/** The first enhanced status code in a text that is not part of a longer number. */
export const findStatus = (text: string): string | null =>
  /(?:^|[\s#(-])([245]\.\d{1,3}\.\d{1,3})(?![.\d])/.exec(text)?.[1] ?? null
