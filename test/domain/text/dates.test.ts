import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { brazilianDate, brazilianIso, readBrazilianDate, readIso } from '../../../src/domain/text/dates.js'

/** Moments of UTC, and what a clock on a wall in Brasília showed. */
const moments: [utc: string, date: string, iso: string][] = [
  ['2026-07-18T04:01:32.000Z', '18/07/2026 01:01:32', '2026-07-18T01:01:32.000-03:00'],
  ['2026-07-18T02:59:59.999Z', '17/07/2026 23:59:59', '2026-07-17T23:59:59.999-03:00'],
  ['2026-07-18T03:00:00.000Z', '18/07/2026 00:00:00', '2026-07-18T00:00:00.000-03:00'],
  ['2026-01-01T02:59:59.000Z', '31/12/2025 23:59:59', '2025-12-31T23:59:59.000-03:00'],
  ['2028-03-01T02:00:00.000Z', '29/02/2028 23:00:00', '2028-02-29T23:00:00.000-03:00'],
  ['2027-03-01T02:00:00.000Z', '28/02/2027 23:00:00', '2027-02-28T23:00:00.000-03:00'],
  ['2026-07-18T15:00:00.123Z', '18/07/2026 12:00:00', '2026-07-18T12:00:00.123-03:00'],
  // The last summer time ended on 17/02/2019 at midnight, when clocks went back an hour.
  ['2019-02-17T01:59:59.000Z', '16/02/2019 23:59:59', '2019-02-16T23:59:59.000-02:00'],
  ['2019-02-17T02:00:00.000Z', '16/02/2019 23:00:00', '2019-02-16T23:00:00.000-03:00'],
  ['2018-11-04T02:59:59.000Z', '03/11/2018 23:59:59', '2018-11-03T23:59:59.000-03:00'],
  ['2018-11-04T03:00:00.000Z', '04/11/2018 01:00:00', '2018-11-04T01:00:00.000-02:00'],
]

describe('2.5 dates', () => {
  test.each(moments)('2.5 %s is %s in Brasília', (utc, date) => {
    expect(brazilianDate(new Date(utc))).toBe(date)
  })

  test.each(moments)('ISO 8601: %s keeps its moment and bears the offset of Brasília', (utc, _, iso) => {
    expect(brazilianIso(new Date(utc))).toBe(iso)
    expect(new Date(iso).toISOString()).toBe(utc)
  })

  test.each(['UTC', 'Asia/Tokyo', 'America/New_York', 'America/Sao_Paulo'])(
    '2.5 a process in the time zone %s shows the same dates',
    zone => {
      const script = `
        const { brazilianDate, brazilianIso } = await import(${JSON.stringify(new URL('../../../src/domain/text/dates.js', import.meta.url).href)})
        const moments = ${JSON.stringify(moments.map(([utc]) => utc))}
        const shown = moments.map(utc => [utc, brazilianDate(new Date(utc)), brazilianIso(new Date(utc))])
        console.log(JSON.stringify({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, shown }))`
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
        env: { PATH: process.env.PATH, TZ: zone },
        encoding: 'utf8',
      })
      expect(stderr).toBe('')
      expect(JSON.parse(stdout)).toEqual({ zone, shown: moments })
    },
  )

  test('2.5 one moment after the other, over more hours than are remembered, all dates are right', () => {
    const start = Date.UTC(2024, 0, 1)
    for (let hour = 0; hour < 25_000; hour++) {
      const at = new Date(start + hour * 3_600_000)
      const shown = new Date(at.getTime() - 3 * 3_600_000).toISOString()
      const [year, month, day] = shown.slice(0, 10).split('-')
      if (brazilianDate(at) !== `${day}/${month}/${year} ${shown.slice(11, 19)}`)
        expect.fail(`${at.toISOString()}: ${brazilianDate(at)}`)
    }
    expect(brazilianDate(new Date(start))).toBe('31/12/2023 21:00:00')
  })
})

test.each([
  ['18/07/2026 01:01:32', '2026-07-18T04:01:32.000Z'],
  ['18/07/2026 01:01', '2026-07-18T04:01:00.000Z'],
  // Summer time began at this midnight, and ended at the other.
  ['04/11/2018 01:00:00', '2018-11-04T03:00:00.000Z'],
  ['16/02/2019 22:30:00', '2019-02-17T00:30:00.000Z'],
])('%s in Brasília is %s', (text, iso) => {
  expect(readBrazilianDate(text)?.toISOString()).toBe(iso)
})

test.each(['31/02/2026 01:01:32', '18/07/2026', '18/7/2026 01:01:32', '18/07/2026 25:01:32', '04/11/2018 00:30:00', ''])(
  '%s is no moment in Brasília',
  text => {
    expect(readBrazilianDate(text)).toBe(null)
  },
)

test.each([
  ['2026-07-18T09:00:00-03:00', '2026-07-18T12:00:00.000Z'],
  ['2028-02-29T23:30-03:00', '2028-03-01T02:30:00.000Z'],
  ['2026-01-01T00:30:00.5+02:00', '2025-12-31T22:30:00.500Z'],
])('%s is %s', (text, iso) => {
  expect(readIso(text)?.toISOString()).toBe(iso)
})

test.each(['2026-02-30T09:00:00-03:00', '2027-02-29T09:00:00Z', '2026-04-31T09:00Z', '2026-13-01T09:00Z', '2026-07-18T09:00:00'])(
  '%s is no moment',
  text => {
    expect(readIso(text)).toBe(null)
  },
)
