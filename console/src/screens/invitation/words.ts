import { defineWords } from '../../app/language.js'

export const words = defineWords(
  {
    title: 'Boas-vindas ao Carteiro',
    about: {
      operator: 'Crie o seu acesso de operador: você verá e poderá fazer tudo.',
      sender: 'Crie o seu acesso de remetente.',
      auditor: 'Crie o seu acesso de auditor: você lê e confere, sem mudar nada.',
    },
    account: (name: string) => `Conta: ${name}`,
    name: 'Seu nome',
    email: 'E-mail',
    second: 'Pedir também um código do celular ao entrar',
    secondHint: 'Recomendado. Quem descobrir a sua senha não entra sem o seu celular.',
    create: 'Criar acesso e entrar',
    gone: 'Este link não vale mais',
  },
  {
    title: 'Welcome to Carteiro',
    about: {
      operator: 'Create your access as an operator: you will see and may do everything.',
      sender: 'Create your access as a sender.',
      auditor: 'Create your access as an auditor: you read and verify, and change nothing.',
    },
    account: (name: string) => `Account: ${name}`,
    name: 'Your name',
    email: 'E-mail',
    second: 'Also ask for a code of my phone at sign-in',
    secondHint: 'Recommended. Whoever finds out your password does not get in without your phone.',
    create: 'Create access and sign in',
    gone: 'This link is no longer valid',
  },
)
