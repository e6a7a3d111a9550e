/** Why an e-mail address fails the validation made before anything is sent: a short label and the whole sentence. */
export const validationFailures: Readonly<Record<string, { label: string; description: string }>> = {
  syntax: { label: 'Endereço inválido', description: 'O endereço de e-mail não segue as regras do domínio e não pode existir.' },
  'domain-missing': { label: 'Domínio inexistente', description: 'O domínio do endereço de e-mail não existe.' },
  'no-exchanger': {
    label: 'Domínio não recebe e-mail',
    description: 'O domínio do endereço não tem servidor que receba e-mails.',
  },
  disposable: { label: 'E-mail descartável', description: 'O endereço é de um serviço de e-mails descartáveis.' },
  suppressed: {
    label: 'Endereço suprimido',
    description: 'O endereço devolveu um envio anterior em definitivo, reclamou de um envio desta conta ou é de outra pessoa.',
  },
}
