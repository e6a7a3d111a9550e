import { Agent, request } from 'undici'

/** The bare HTTP client in a loop: no database, no signature, no log. Arguments: URL, requests, at once, bytes of the body. */
const [url, requests, atOnce, bytes] = process.argv.slice(2) as [string, string, string, string]
const body = JSON.stringify({ filler: 'x'.repeat(Number(bytes) - 14) })
const headers = { 'content-type': 'application/json' }
const dispatcher = new Agent()
let left = Number(requests)
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (left-- > 0) {
      const answer = await request(url, { method: 'POST', headers, body, dispatcher })
      await answer.body.dump()
    }
  }),
)
await dispatcher.close()
const { user, system } = process.cpuUsage()
process.stdout.write(String((user + system) / 1_000))
