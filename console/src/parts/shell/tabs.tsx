import { Tabs as Radix } from 'radix-ui'
import { type ReactNode, useEffect, useRef } from 'react'

export interface Tab {
  value: string
  label: string
  content: ReactNode
  /** Stays there, unseen, while another tab is open: a text that nobody saved must not be lost. */
  keep?: boolean
}

/** The tab that is open is part of the address: `value` comes from the search parameters, and may be any text. */
export function Tabs({
  label,
  tabs,
  value: asked,
  onChoose,
}: {
  label: string
  tabs: readonly Tab[]
  value: string
  onChoose(value: string): void
}) {
  const value = tabs.some(tab => tab.value === asked) ? asked : (tabs[0]?.value ?? '')
  const list = useRef<HTMLDivElement>(null)
  // A phone shows some of the tabs at a time.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is open
  useEffect(() => {
    list.current?.querySelector('[data-state=active]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [value])
  return (
    <Radix.Root value={value} onValueChange={onChoose} className="flex flex-col gap-4">
      <Radix.List
        aria-label={label}
        className="flex gap-1 overflow-x-auto overflow-y-hidden border-b border-line [scrollbar-width:none]"
      >
        {tabs.map(tab => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px h-10 rounded-t -outline-offset-2 border-b-2 border-transparent px-3 whitespace-nowrap text-muted hover:text-text data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(tab => (
        <Radix.Content
          key={tab.value}
          value={tab.value}
          {...(tab.keep ? { forceMount: true as const } : {})}
          className="data-[state=inactive]:hidden"
        >
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
