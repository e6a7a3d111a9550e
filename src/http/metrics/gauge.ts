import { Gauge, type Registry } from 'prom-client'

/** A gauge without labels, read whenever the metrics are. null and undefined are shown as NaN: the value is not known. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | null | undefined | Promise<number | null | undefined>,
): void {
  new Gauge({
    name: `carteiro_${name}`,
    help,
    registers: [registry],
    async collect() {
      this.set((await read()) ?? Number.NaN)
    },
  })
}
