import { HOUR_MS } from '../units.js'

interface Zone {
  format: Intl.DateTimeFormat
  /** Offsets change at most once an hour; asking the zone data costs 20 times as much as the arithmetic. */
  offsets: Map<number, number>
}

const zones = new Map<string, Zone>()
const MAX_OFFSETS = 10_000

/** How far a zone's clocks are from UTC at a moment, in milliseconds. */
export function zoneOffset(atMs: number, name: string): number {
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = { format: new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' }), offsets: new Map() }
    zones.set(name, zone)
  }
  const hour = Math.floor(atMs / HOUR_MS)
  const known = zone.offsets.get(hour)
  if (known !== undefined) return known
  const text = zone.format.formatToParts(atMs).find(part => part.type === 'timeZoneName')!.value
  const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(text) as unknown as [string, string?, string?, string?]
  const offset = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  if (zone.offsets.size >= MAX_OFFSETS) zone.offsets.clear()
  zone.offsets.set(hour, offset)
  return offset
}
