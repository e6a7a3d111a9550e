import { readEmailAddress } from '../text/mail-address.js'

/** Who a notification comes from, as the account states it: shown wherever a recipient must be able to check the sender. */
export interface SenderSettings {
  'brand.name': string
  'sender.legalName': string
  'sender.document': string
  'sender.phone': string
  'sender.site': string
  'sender.privacy': string
}

/** One fact about the sender. The label is empty where the value explains itself. */
export interface SenderDetail {
  label: string
  value: string
  /** Where the value leads, if anywhere: https:, tel: or mailto:. */
  href: string | null
}

export const brandName = (settings: Pick<SenderSettings, 'brand.name'>, accountName: string): string =>
  settings['brand.name'] || accountName

/** The colour of accounts that have chosen none. */
export const DEFAULT_BRAND_COLOR = '#0b5d4e'

export const brandColor = (settings: { 'brand.color': string }): string => settings['brand.color'] || DEFAULT_BRAND_COLOR

/** The facts that the account has stated, in the order in which they are shown. */
export function senderDetails(settings: Omit<SenderSettings, 'brand.name'>): SenderDetail[] {
  const { 'sender.phone': phone, 'sender.site': site, 'sender.privacy': privacy } = settings
  const details: SenderDetail[] = [
    { label: '', value: settings['sender.legalName'], href: null },
    { label: 'CNPJ', value: showCnpj(settings['sender.document']), href: null },
    { label: 'Telefone', value: phone, href: `tel:${phone.replace(/[^+\d]/g, '')}` },
    { label: 'Site', value: site, href: site },
    { label: 'Encarregado de dados (LGPD)', value: privacy, href: privacy.startsWith('https:') ? privacy : mailto(privacy) },
  ]
  return details.filter(({ value }) => value !== '')
}

/** The same facts as lines of text. */
export const senderLines = (settings: Omit<SenderSettings, 'brand.name'>): string[] => senderDetails(settings).map(showDetail)

export const showDetail = ({ label, value }: SenderDetail): string => (label === '' ? value : `${label}: ${value}`)

const mailto = (address: string): string => `mailto:${address.replace(/^[^@]+/, encodeURIComponent)}`

const showCnpj = (document: string): string => document.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5')

/** Twelve characters and two check digits. Since July 2026 the twelve may be letters too (IN RFB 2.229/2024). */
const CNPJ = /^[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}\/?[0-9A-Z]{4}-?\d{2}$/

/** The CNPJ without its mask, or null when it is none or its check digits are wrong. */
export function readCnpj(text: string): string | null {
  const written = text.trim().toUpperCase()
  if (written === '') return ''
  if (!CNPJ.test(written)) return null
  const document = written.replace(/[./-]/g, '')
  // The check digits of a repeated digit are right, and no company has such a number.
  if (new Set(document).size === 1) return null
  return document.endsWith(checkDigits(document.slice(0, 12))) ? document : null
}

export function explainCnpj(text: string): string | null {
  const written = text.trim().toUpperCase()
  if (!CNPJ.test(written)) return null
  return `${written} não é um CNPJ: os dígitos verificadores não conferem. Confira o número no cartão CNPJ`
}

/** Modulo 11 with the weights 2 to 9 from the right; a letter counts as its ASCII code less 48, as the digits do. */
function checkDigits(base: string): string {
  const digitAfter = (text: string): number => {
    const sum = [...text].reduceRight((total, character, place) => {
      const weight = 2 + ((text.length - 1 - place) % 8)
      return total + (character.charCodeAt(0) - 48) * weight
    }, 0)
    return sum % 11 < 2 ? 0 : 11 - (sum % 11)
  }
  const first = digitAfter(base)
  return `${first}${digitAfter(`${base}${first}`)}`
}

/** With area code, with +country, or one of the service numbers that have none (0800, 4004): as people dial them. */
const PHONE = [/^(\+?55)?0?[1-9]{2}(9\d{8}|[2-5]\d{7})$/, /^0?[3589]00\d{6,7}$/, /^[34]0\d{6}$/, /^\+(?!55)[1-9]\d{7,14}$/]

/** The number as it was written, because the blanks and brackets of a published number are part of how people know it. */
export function readSenderPhone(text: string): string | null {
  const shown = text.trim().replace(/ +/g, ' ')
  if (shown === '') return ''
  if (!/^\+?[\d ().-]{3,30}$/.test(shown)) return null
  const dialled = shown.replace(/[^+\d]/g, '')
  return PHONE.some(kind => kind.test(dialled)) ? shown : null
}

export function readSite(text: string): string | null {
  const written = text.trim()
  if (written === '') return ''
  if (written.length > 200 || !URL.canParse(written)) return null
  const url = new URL(written)
  const isPublic = url.protocol === 'https:' && url.hostname.includes('.') && url.username === '' && url.password === ''
  if (!isPublic) return null
  return url.pathname === '/' && url.search === '' && url.hash === '' ? url.origin : url.href
}

export const readPrivacyContact = (text: string): string | null =>
  text.includes('@') && !text.includes('/') ? readEmailAddress(text.trim()) : readSite(text)
