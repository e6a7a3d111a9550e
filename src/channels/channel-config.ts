import type { ProviderTable } from './provider-module.js'

export interface ChannelConfig {
  /** The carriers in order of preference. */
  readonly carriers: readonly URL[]
  /** Told at the start where there is a carrier: settings left at a default that suits a trial only. */
  readonly warnings?: readonly string[]
  /** Settings that have no effect, because another one is not set. Told at the start where one of them is set. */
  readonly idle?: readonly { readonly names: readonly string[]; readonly without: string }[]
  /** How long the channel keeps things of its own. */
  readonly retention?: readonly KeptFor[]
}

/** For people, in Portuguese: what is deleted after how many days, and the setting that says so. */
export interface KeptFor {
  readonly what: string
  readonly setting: string | null
  /** null: it is kept without end. */
  readonly days: number | null
}

/** The reader of the environment that app/config.ts gives to the modules. Every problem is collected and reported at once. */
export interface Environment {
  readonly dataFolder: string
  setting<T>(name: string, fallback: T, expected: string, read: (text: string) => T | null): T
  whole(name: string, fallback: number, least: number, most: number): number
  /** The carriers' URLs of a setting, each of a protocol of one of these providers. */
  carriers(name: string, providers: ProviderTable): URL[]
}
