/**
 * Tells people from machines that fetch what people were sent: link scanners, proxies that load ahead, previews. Every
 * access is evidence; only a person's counts as reading. The signals are kept with the event, so the verdict can be checked.
 */
export interface Access {
  method: string
  userAgent: string | undefined
  /** Purpose, Sec-Purpose, X-Moz, X-Purpose: what browsers send when they load ahead. */
  purpose: string | undefined
  /** Milliseconds since the message left; null when it has not. */
  sinceSentMs: number | null
}

const SCANNERS =
  /bot\b|crawl|spider|scanner|barracuda|proofpoint|mimecast|symantec|safelinks|trendmicro|forcepoint|sophos|fortinet|cisco|ironport|bitdefender|avast|kaspersky|virustotal|urlscan|preview|facebookexternalhit|whatsapp|telegrambot|slackbot|skypeuripreview|twitterbot|linkedinbot|curl|wget|python|java\/|okhttp|go-http|node-fetch|undici|axios|headless|phantom|libwww|apache-httpclient/i
/** Apple's mail privacy proxy loads every image ahead of the reader, under this bare name. */
const PREFETCHER = /^Mozilla\/5\.0$/
/** Nobody opens a message in the moment in which it leaves; filters on the way do. */
const TOO_SOON_MS = 300

/** Why an access is not a person's; empty when nothing speaks against it. */
export function robotSignals({ method, userAgent, purpose, sinceSentMs }: Access): string[] {
  const signals: string[] = []
  if (method !== 'GET' && method !== 'POST') signals.push('method')
  if (userAgent === undefined || userAgent.trim() === '') signals.push('no user agent')
  else if (SCANNERS.test(userAgent)) signals.push('scanner')
  else if (PREFETCHER.test(userAgent)) signals.push('prefetching proxy')
  if (purpose !== undefined && /prefetch|preview/i.test(purpose)) signals.push('prefetch header')
  if (sinceSentMs === null || sinceSentMs < TOO_SOON_MS) signals.push('too soon')
  return signals
}
