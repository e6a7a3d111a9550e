import { expect, test } from 'vitest'
import { refusalTexts } from '../../src/domain/errors.js'
import { httpStatusOf } from '../../src/http/errors.js'
import { ROOT } from '../support/sources.js'

/** Where it fails, a message has changed: `npm run write-client` writes the catalogue anew. */
test('docs/erros.md has every message that a request can be refused with', async () => {
  const statuses = [...new Set(refusalTexts.map(({ kind }) => httpStatusOf[kind]))].sort()
  const sections = statuses.map(status => {
    const rows = refusalTexts
      .filter(({ kind }) => httpStatusOf[kind] === status)
      .map(({ code, text }) => `| \`${code}\` | ${text.replaceAll('|', '\\|').replaceAll(/\$(\w+)/g, '*$1*')} |`)
    return `## ${status}\n\n| nome | mensagem |\n|---|---|\n${rows.join('\n')}\n`
  })
  const head = `# Erros

Toda recusa tem o mesmo corpo: \`{"statusCode": 400, "message": "…", "error": "Bad Request"}\`. A mensagem diz o campo e o que fazer. Em *itálico*, o que muda
de um caso para o outro. O nome é o do código-fonte; não vai na resposta. As do console estão aqui também.

Um 500 diz só \`Internal Server Error\`: o motivo está no registro do servidor, com o \`x-request-id\` da resposta. 429 traz \`Retry-After\`, e 503 também, menos onde
esperar não resolve (\`simulatorOff\`, \`fileDamaged\`, \`simulatorAway\`).
`
  await expect([head, ...sections].join('\n')).toMatchFileSnapshot(`${ROOT}/docs/erros.md`)
})
