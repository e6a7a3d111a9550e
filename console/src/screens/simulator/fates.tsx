import { Star } from 'lucide-react'
import type { SimulatedChannel } from '../../../../src/http/console/simulator/simulator-schema.js'
import { useWords } from '../../app/language.js'
import { ChannelName, useChannel } from '../../parts/data/channel.js'
import { Table } from '../../parts/data/table.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { words as screenWords } from './words.js'

/** The test recipients: each one has a fixed result. */
export function FatesTab({ channels }: { channels: readonly SimulatedChannel[] }) {
  const words = useWords(screenWords)
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{words.fatesAbout}</p>
      {channels.map(channel => (
        <ChannelFates key={channel.channel} channel={channel} />
      ))}
    </div>
  )
}

function ChannelFates({ channel: { channel, fates } }: { channel: SimulatedChannel }) {
  const words = useWords(screenWords)
  const { label } = useChannel(channel)
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">
        <ChannelName name={channel} />
      </h2>
      <Table
        label={`${words.tabs.fates}: ${label}`}
        rows={fates}
        keyOf={fate => fate.address}
        empty={null}
        columns={[
          {
            name: 'address',
            head: words.address,
            cell: ({ address, example }) => (
              <span className="flex items-center gap-1">
                <code className="wrap-anywhere">{address}</code>
                <CopyButton compact text={address} />
                {example && <Star size={14} className="shrink-0 text-warn" aria-hidden="true" />}
              </span>
            ),
          },
          { name: 'meaning', head: words.meaning, cell: ({ meaning }) => <span className="wrap-anywhere">{meaning}</span> },
          { name: 'does', head: words.does, wideOnly: true, cell: ({ does }) => <span className="text-muted">{does}</span> },
        ]}
      />
    </section>
  )
}
