const TIMEOUT_MS = 2_000

/**
 * Gives the simulator the text that a message's template makes, before the message itself: Meta knows the templates that it has approved,
 * and its double has to be told. The text is for people who look at the inbox, so that a failure delays no message.
 */
export function createTextShower(simulatorUrl: string, carrier: () => Promise<URL | null>) {
  return async (reference: string, text: string): Promise<void> => {
    try {
      const key = (await carrier())?.username ?? ''
      const response = await fetch(`${simulatorUrl}/simulator/whatsapp/texts/${encodeURIComponent(reference)}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      await response.arrayBuffer()
    } catch {
      // The send that follows tells whether the simulator is gone.
    }
  }
}
