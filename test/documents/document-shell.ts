import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { runCommand } from '../support/gateway/command.js'
import type { Stack } from '../support/gateway/stack.js'

/** The notification of the examples. */
const EXAMPLE_ID = '01a1df9a-c9bd-7949-9ebb-1bb4494b84f5'

/** Where the examples' addresses are in a test. */
interface Places {
  stack: Stack
  token: string
  receiver: string
}

export interface ShellOutcome {
  status: number
  stdout: string
  stderr: string
}

/**
 * Runs the examples of a document as a reader's shell would, one block after the other. curl is curl, at the test's addresses; the
 * commands of the program run in this process, because starting fifty would take a minute.
 */
const FUNCTIONS = `
set -a
[ ! -f .state ] || . ./.state
set -eo pipefail
curl() {
  local args=() arg body
  for arg in "$@"; do
    arg=\${arg//http:\\/\\/127.0.0.1:8080/$GATEWAY}
    arg=\${arg//http:\\/\\/127.0.0.1:8025/$SIMULATOR}
    arg=\${arg//https:\\/\\/sistema.example.com\\/avisos/$RECEIVER}
    args+=("\${arg//$EXAMPLE_ID/$LAST_ID}")
  done
  body=$(command curl -sS --fail-with-body "\${args[@]}") || { printf '%s\\n' "$body" >&2; return 1; }
  if [[ $body =~ \\"idEmail\\":\\"([0-9a-f-]{36})\\" ]]; then LAST_ID=\${BASH_REMATCH[1]}; fi
  if [[ $body =~ \\"segredo\\":\\"([^\\"]+)\\" ]]; then WEBHOOK_SECRET=\${BASH_REMATCH[1]}; fi
  if [[ $body =~ \\"id\\":\\"([0-9a-f-]{36})\\" ]]; then WEBHOOK=\${BASH_REMATCH[1]}; fi
  printf '%s\\n' "$body"
}
carteiro() {
  local status
  status=$(printf '%s\\0' "\${@//$EXAMPLE_ID/$LAST_ID}" | command curl -s -o .printed -w '%{http_code}' -H "x-token: $CARTEIRO_TOKEN" -H "x-id: $LAST_ID" --data-binary @- "$RUNNER")
  if [ "$status" != 200 ]; then cat .printed >&2; return 1; fi
  local printed=$(cat .printed)
  if [[ $printed =~ idEmail[^0-9a-f]+([0-9a-f-]{36}) ]]; then LAST_ID=\${BASH_REMATCH[1]}; fi
  cat .printed
}
npx() { [ "$1" = carteiro ] || { echo "npx $1 is not known here" >&2; return 1; }; shift; carteiro "$@"; }
`

export async function openShell({ stack, token, receiver }: Places) {
  const runner = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const folder = decodeURIComponent(request.url!.slice(1))
      const args = (await text(request)).split('\0').slice(0, -1)
      const found = args.map(arg => (/^[\w-]+\.(csv|json|zip|pdf|png|txt)$/.test(arg) ? join(folder, arg) : arg))
      const env = { CARTEIRO_URL: stack.gateway.url, CARTEIRO_TOKEN: String(request.headers['x-token']) }
      const words = found.map(arg => (arg === 'ID' ? String(request.headers['x-id']) : arg))
      const { status, stdout, stderr } = await runCommand(words, stack.database.url, env)
      response.writeHead(status === 0 ? 200 : 500).end(status === 0 ? stdout : `${stdout}${stderr}`)
    }
    answer().catch(error => response.writeHead(500).end(String(error)))
  })
  runner.listen(0, '127.0.0.1')
  await once(runner, 'listening')
  const { port } = runner.address() as AddressInfo
  const run = async (folder: string, script: string): Promise<ShellOutcome> => {
    const child = spawn('bash', ['-c', `${FUNCTIONS}\n${script}\nexport -p > .state`], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        GATEWAY: stack.gateway.url,
        SIMULATOR: stack.simulator.url,
        RECEIVER: receiver,
        RUNNER: `http://127.0.0.1:${port}/${encodeURIComponent(folder)}`,
        EXAMPLE_ID,
        LAST_ID: EXAMPLE_ID,
        TOKEN: token,
        CARTEIRO_TOKEN: token,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, [status]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')])
    return { status: status as number, stdout: stdout.toString(), stderr: stderr.toString() }
  }
  const close = async (): Promise<void> => {
    runner.close()
    await once(runner, 'close')
  }
  return { run, close }
}
