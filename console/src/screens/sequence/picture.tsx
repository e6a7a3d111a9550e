import { ArrowDown, ArrowUp, CircleCheck, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { SequenceStepWire } from '../../../../src/http/console/sending/sequence-schema.js'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { useChannel } from '../../parts/data/channel.js'
import { IconButton } from '../../parts/form/button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { words as screenWords } from './words.js'

type Steps = readonly SequenceStepWire[]

/** The steps from top to bottom, each one joined to the step before it by its wait. `onChange` null: they are only looked at. */
export function Picture({
  steps,
  conditions,
  maxWaitMinutes,
  onChange,
}: {
  steps: Steps
  conditions: readonly string[]
  maxWaitMinutes: number
  onChange: ((steps: Steps) => void) | null
}) {
  const words = useWords(screenWords)
  const { channels } = useInstallation()
  const unused = channels.filter(({ name }) => !steps.some(({ channel }) => channel === name))
  const move = (from: number, to: number): void => {
    const next = [...steps]
    next.splice(to, 0, ...next.splice(from, 1))
    onChange?.(next)
  }
  return (
    <div className="flex flex-col">
      <div className="flex items-center gap-2.5 text-muted">
        <CircleCheck size={18} aria-hidden="true" className="ml-3 text-good" />
        {words.accepted}
      </div>
      {steps.length === 0 && (
        <div className="mt-3 rounded-xl border border-dashed border-line p-4">
          <p className="font-medium">{words.empty}</p>
          <p className="mt-1 text-muted">{words.emptyAbout}</p>
        </div>
      )}
      <ol className="flex flex-col">
        {steps.map((step, place) => (
          <Step
            key={step.channel}
            step={step}
            place={place}
            isLast={place === steps.length - 1}
            conditions={conditions}
            maxWaitMinutes={maxWaitMinutes}
            onChange={onChange && (changed => onChange(steps.map((other, index) => (index === place ? changed : other))))}
            onMove={by => move(place, place + by)}
            onRemove={() => onChange?.(steps.filter((_, index) => index !== place))}
          />
        ))}
      </ol>
      {onChange !== null && unused.length > 0 && (
        <div className="mt-4 max-w-xs">
          <Select
            label={words.add}
            value=""
            choices={[{ value: '', label: words.addChoice }, ...unused.map(({ name, label }) => ({ value: name, label }))]}
            onChoose={channel =>
              channel !== '' &&
              onChange([...steps, { channel, waitMinutes: steps.length === 0 ? 0 : 60, condition: 'nao_entregue' }])
            }
          />
        </div>
      )}
      {steps.length > 0 && <p className="mt-3 text-[0.93rem] text-muted">{words.end}</p>}
    </div>
  )
}

interface StepProps {
  step: SequenceStepWire
  place: number
  isLast: boolean
  conditions: readonly string[]
  maxWaitMinutes: number
  onChange: ((step: SequenceStepWire) => void) | null
  onMove(by: number): void
  onRemove(): void
}

function Step({ step, place, isLast, conditions, maxWaitMinutes, onChange, onMove, onRemove }: StepProps) {
  const words = useWords(screenWords)
  const { label, icon: Icon, color } = useChannel(step.channel)
  const named = words.conditions as Readonly<Record<string, string>>
  const isFirst = place === 0
  const fixed = onChange === null
  return (
    <li>
      <div aria-hidden="true" className="ml-[1.3rem] h-5 w-0.5 bg-line" />
      <section
        aria-label={words.step(place + 1, label)}
        className="rounded-xl border border-line border-l-4 bg-page p-3"
        style={{ borderLeftColor: color }}
      >
        <div className="flex items-center gap-2.5">
          <Icon size={20} aria-hidden="true" style={{ color }} />
          <span className="grow font-semibold first-letter:uppercase">{label}</span>
          {!fixed && (
            <>
              <IconButton label={words.up(label)} disabled={isFirst} className="disabled:opacity-35" onClick={() => onMove(-1)}>
                <ArrowUp size={18} />
              </IconButton>
              <IconButton label={words.down(label)} disabled={isLast} className="disabled:opacity-35" onClick={() => onMove(1)}>
                <ArrowDown size={18} />
              </IconButton>
              <IconButton label={words.remove(label)} onClick={onRemove}>
                <Trash2 size={18} />
              </IconButton>
            </>
          )}
        </div>
        {isFirst ? (
          <p className="text-muted">{words.first}</p>
        ) : (
          <div className="mt-2 grid gap-3 sm:grid-cols-[1fr_1.2fr]">
            <Wait
              minutes={step.waitMinutes}
              most={maxWaitMinutes}
              disabled={fixed}
              onChange={waitMinutes => onChange?.({ ...step, waitMinutes })}
            />
            <Select
              label={words.only}
              value={step.condition}
              disabled={fixed}
              choices={conditions.map(value => ({ value, label: named[value] ?? value }))}
              onChoose={condition => onChange?.({ ...step, condition })}
            />
          </div>
        )}
      </section>
    </li>
  )
}

const UNITS = [1, 60, 1_440] as const

function Wait({
  minutes,
  most,
  disabled,
  onChange,
}: {
  minutes: number
  most: number
  disabled: boolean
  onChange(minutes: number): void
}) {
  const words = useWords(screenWords)
  const [unit, setUnit] = useState<number>(() => [...UNITS].reverse().find(size => minutes > 0 && minutes % size === 0) ?? 1)
  const labels = [words.minutes, words.hours, words.days]
  return (
    <div className="grid grid-cols-[5rem_1fr] items-end gap-2">
      <TextField
        label={words.wait}
        type="number"
        min={0}
        max={Math.floor(most / unit)}
        disabled={disabled}
        value={minutes / unit}
        onChange={event => onChange(Math.min(most, Math.max(0, Math.round(Number(event.target.value) * unit))))}
      />
      <Select
        label={words.unit}
        hideLabel
        disabled={disabled}
        value={String(unit)}
        choices={UNITS.map((size, index) => ({ value: String(size), label: labels[index]! }))}
        onChoose={value => {
          const next = Number(value)
          onChange(Math.min(most, Math.round((minutes / unit) * next)))
          setUnit(next)
        }}
      />
    </div>
  )
}
