import { defineWords } from '../../app/language.js'

export const words = defineWords(
  {
    title: 'Entrar no console',
    email: 'E-mail',
    password: 'Senha',
    code: 'Código do aplicativo',
    codeHint: 'Os 6 dígitos que o aplicativo mostra agora.',
    enter: 'Entrar',
    lost: 'Sem acesso? Quem administra o servidor cria um convite com: carteiro operator invite --email SEU-EMAIL',
  },
  {
    title: 'Sign in to the console',
    email: 'E-mail',
    password: 'Password',
    code: 'Code of the app',
    codeHint: 'The 6 digits that the app shows now.',
    enter: 'Sign in',
    lost: 'No access? Whoever runs the server makes an invitation with: carteiro operator invite --email YOUR-EMAIL',
  },
)
