import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../../app/theme.js'
import type { ChartData } from './chart.js'

const HEIGHT = 240

const colorValue = (color: string): string =>
  color.startsWith('var(') ? getComputedStyle(document.documentElement).getPropertyValue(color.slice(4, -1)).trim() : color

export default function ChartDrawing({ label, spans, series }: ChartData) {
  const place = useRef<HTMLDivElement>(null)
  const dark = useIsDark()
  const data = JSON.stringify([spans, series])
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn again where the numbers or the theme differ, not for each new object
  useEffect(() => {
    const box = place.current!
    const axis = {
      stroke: colorValue('var(--muted)'),
      grid: { stroke: colorValue('var(--line)'), width: 1 },
      ticks: { show: false },
    }
    const plot = new uPlot(
      {
        width: box.clientWidth,
        height: HEIGHT,
        cursor: { points: { size: 7 } },
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
        axes: [
          { ...axis, values: (_, splits) => splits.map(split => spans[split]?.label ?? ''), incrs: [1, 2, 3, 6, 12], space: 64 },
          {
            ...axis,
            size: 44,
            incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 1_000_000],
          },
        ],
        series: [
          {},
          ...series.map(({ label: name, color }) => ({
            label: name,
            stroke: colorValue(color),
            width: 2,
            fill: `${colorValue(color)}14`,
            points: { show: spans.length < 40, size: 4 },
          })),
        ],
      },
      [spans.map((_, index) => index), ...series.map(({ values }) => [...values])],
      box,
    )
    const resize = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }))
    resize.observe(box)
    return () => {
      resize.disconnect()
      plot.destroy()
    }
  }, [data, dark])
  return <div ref={place} role="img" aria-label={label} className="h-60 w-full" />
}
