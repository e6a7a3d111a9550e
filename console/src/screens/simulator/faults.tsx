import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Fault, SetFaults, SimulatedChannel } from '../../../../src/http/console/simulator/simulator-schema.js'
import { api } from '../../api/client.js'
import { simulator } from '../../api/queries.js'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { messageOf } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** The failures of each channel's carriers, one form for each channel. */
export function FaultsTab({ channels }: { channels: readonly SimulatedChannel[] }) {
  const words = useWords(screenWords)
  const { operator } = useInstallation()
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{operator.role === 'operator' ? words.faultsAbout : words.operatorsOnly}</p>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        {channels.map(channel => (
          <ChannelFaults key={channel.channel} channel={channel} isAllowed={operator.role === 'operator'} />
        ))}
      </div>
    </div>
  )
}

function ChannelFaults({ channel: { channel, faults }, isAllowed }: { channel: SimulatedChannel; isAllowed: boolean }) {
  const words = useWords(screenWords)
  const shared = useWords(partWords)
  const client = useQueryClient()
  const toast = useToast()
  // What was changed here; the rest follows the simulator.
  const [changed, setChanged] = useState<Record<string, boolean | number>>({})
  const save = useMutation({
    mutationFn: () => {
      const values = Object.fromEntries(faults.map(({ name, value }) => [name, changed[name] ?? value]))
      return api.put('/simulator/faults', { channel, values } satisfies SetFaults)
    },
    onSuccess: async () => {
      toast(words.saved)
      await client.invalidateQueries({ queryKey: simulator.queryKey })
      setChanged({})
    },
  })
  const on = faults.filter(({ isOn }) => isOn).length
  return (
    <Card>
      <form
        aria-label={channel}
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <div className="flex items-center justify-between gap-2">
          <h2 className="font-semibold">
            <ChannelName name={channel} />
          </h2>
          {on > 0 && <Badge tone="warn">{words.faultsOn(on)}</Badge>}
        </div>
        {(['send', 'reports'] as const).map(about => (
          <fieldset key={about} disabled={!isAllowed} className="flex flex-col gap-3">
            <legend className="mb-1 text-[0.87rem] text-muted">{about === 'send' ? words.aboutSend : words.aboutReports}</legend>
            {faults
              .filter(fault => fault.about === about)
              .map(fault => (
                <FaultField
                  key={fault.name}
                  fault={fault}
                  value={changed[fault.name] ?? fault.value}
                  onChange={value => setChanged(all => ({ ...all, [fault.name]: value }))}
                />
              ))}
          </fieldset>
        ))}
        <FormError message={save.error === null ? null : messageOf(save.error, shared.unreachable)} />
        {isAllowed && (
          <Button type="submit" className="self-start" busy={save.isPending} disabled={Object.keys(changed).length === 0}>
            {words.save}
          </Button>
        )}
      </form>
    </Card>
  )
}

interface FaultFieldProps {
  fault: Fault
  value: boolean | number
  onChange(value: boolean | number): void
}

function FaultField({ fault, value, onChange }: FaultFieldProps) {
  if (fault.kind === 'number')
    return (
      <TextField
        label={fault.label}
        hint={fault.help}
        type="number"
        min={0}
        max={fault.max}
        step={fault.step}
        value={String(value)}
        onChange={event => onChange(event.target.valueAsNumber || 0)}
      />
    )
  return (
    <label className="flex items-start gap-2.5">
      <input
        type="checkbox"
        className="mt-1 size-4 accent-accent"
        checked={value === true}
        onChange={event => onChange(event.target.checked)}
      />
      <span className="min-w-0">
        <span className="font-medium">{fault.label}</span>
        <span className="block text-[0.87rem] text-muted">{fault.help}</span>
      </span>
    </label>
  )
}
