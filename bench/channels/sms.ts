import smpp, { type Session } from 'smpp'
import type { ChannelBench } from './channels.js'

/** One bound session for all, as the gateway has it. */
const sessions = new Map<string, Promise<Session>>()

function sessionTo({ hostname, port, username, password }: URL): Promise<Session> {
  const key = `${hostname}:${port}`
  const known = sessions.get(key)
  if (known !== undefined) return known
  const opening = new Promise<Session>((resolve, reject) => {
    const session = smpp.connect({ host: hostname, port: Number(port) })
    session.on('error', reject)
    session.on('connect', () => {
      session.bind_transceiver({ system_id: username, password }, () => resolve(session))
    })
    session.on('deliver_sm', pdu => session.send(pdu.response()))
    // What is left open must not keep the benchmark from ending.
    session.socket.unref()
  })
  sessions.set(key, opening)
  return opening
}

export const smsBench: ChannelBench = {
  atOnce: 50,
  request: n => ({ sms: { number: '11987654321', typeSend: '2', customMessage: `Aviso ${n}` } }),
  async send(carrier, n) {
    const session = await sessionTo(carrier)
    await new Promise<void>((resolve, reject) => {
      const fields = { destination_addr: '5511987654321', registered_delivery: 1, short_message: `Aviso ${n}` }
      session.submit_sm(fields, ({ command_status: status }) =>
        status === 0 ? resolve() : reject(new Error(`the carrier says ${status}`)),
      )
    })
  },
}
