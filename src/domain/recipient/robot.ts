export interface Access {
  method: string
  userAgent: string | undefined
  /** Purpose, Sec-Purpose, X-Moz, X-Purpose: what browsers send when they load ahead. */
  purpose: string | undefined
  /** Milliseconds since the message left; null when it has not. */
  sinceSentMs: number | null
  form?: FormAccess
}

export interface FormAccess {
  /** Milliseconds since the page with the form was made; null when it does not come from a page of ours. */
  sincePageMs: number | null
  /** Whether a field was filled in or a button pressed that people do not see. */
  trapped: boolean
  /** Whether the page's script found a browser that is steered by a program. */
  steered: boolean
  /** Sec-Fetch-Mode, which tells a page that is opened from a request that a script makes. */
  fetchMode: string | undefined
  language: string | undefined
}

/** An access that comes earlier is not a person's: filters open a message in the moment in which it is sent, people do not. */
export const robotLimits = { sinceSentMs: 300, sincePageMs: 700 }
type RobotLimits = typeof robotLimits

/** Not the phones of Cubot, nor Avast's browser: people read with both. */
const SCANNERS =
  /(?<!cu)bot\b|crawl|spider|scanner|barracuda|proofpoint|mimecast|symantec|safelinks|trendmicro|forcepoint|sophos|fortinet|cisco|ironport|bitdefender|kaspersky|virustotal|urlscan|preview|facebookexternalhit|whatsapp|telegrambot|slackbot|skypeuripreview|twitterbot|linkedinbot|curl|wget|python|java\/|okhttp|go-http|node-fetch|undici|axios|headless|phantom|libwww|apache-httpclient/i
/** Apple's mail privacy proxy loads every image ahead of the reader, under this bare name. */
const PREFETCHER = /^Mozilla\/5\.0$/

/**
 * Tells people from machines that open links: scanners, proxies that load ahead, previews. Every access is evidence; only a person's
 * counts as reading. Returns the reasons why an access is not a person's; empty: it may be. They are stored with the event, so that the
 * verdict can be checked. A browser that runs no scripts is no reason.
 */
export function robotSignals({ method, userAgent, purpose, sinceSentMs, form }: Access, limits = robotLimits): string[] {
  const signals: string[] = []
  if (method !== 'GET' && method !== 'POST') signals.push('method')
  if (userAgent === undefined || userAgent.trim() === '') signals.push('no user agent')
  else if (SCANNERS.test(userAgent)) signals.push('scanner')
  else if (PREFETCHER.test(userAgent)) signals.push('prefetching proxy')
  if (purpose !== undefined && /prefetch|preview/i.test(purpose)) signals.push('prefetch header')
  if (sinceSentMs === null || sinceSentMs < limits.sinceSentMs) signals.push('too soon')
  if (form !== undefined) signals.push(...formSignals(form, limits))
  return signals
}

function formSignals({ sincePageMs, trapped, steered, fetchMode, language }: FormAccess, limits: RobotLimits): string[] {
  const signals: string[] = []
  if (sincePageMs === null) signals.push('no page')
  else if (sincePageMs < limits.sincePageMs) signals.push('too soon after the page')
  if (trapped) signals.push('trap')
  if (steered) signals.push('steered browser')
  if (fetchMode !== undefined && fetchMode !== 'navigate') signals.push('not a navigation')
  // Old browsers send no Sec-Fetch, which proves nothing; but every browser sends Accept-Language.
  if (fetchMode === undefined && language === undefined) signals.push('bare client')
  return signals
}
