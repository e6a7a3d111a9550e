import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'

const itemClass =
  'flex w-full cursor-default items-center gap-2.5 rounded-md px-2.5 py-2 text-left outline-none select-none data-[highlighted]:bg-sunken'

export function Menu({ trigger, children }: { trigger: ReactNode; children: ReactNode }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className="z-50 min-w-56 rounded-xl border border-line bg-surface p-1.5 shadow-card"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

export const MenuItem = ({ icon, children, onSelect }: { icon?: ReactNode; children: ReactNode; onSelect(): void }) => (
  <DropdownMenu.Item onSelect={onSelect} className={itemClass}>
    {icon}
    {children}
  </DropdownMenu.Item>
)

/** Items of which one is on. */
export const MenuChoice = ({
  label,
  choices,
  value,
  onChoose,
}: {
  label: string
  choices: readonly { value: string; label: string }[]
  value: string
  onChoose(value: string): void
}) => (
  <DropdownMenu.RadioGroup value={value} onValueChange={onChoose} aria-label={label}>
    <DropdownMenu.Label className="px-2.5 pt-2 pb-1 text-[0.8rem] font-medium text-muted">{label}</DropdownMenu.Label>
    {choices.map(choice => (
      <DropdownMenu.RadioItem
        key={choice.value}
        value={choice.value}
        onSelect={event => event.preventDefault()}
        className={itemClass}
      >
        <span className="flex size-4 items-center justify-center">
          <DropdownMenu.ItemIndicator className="size-2 rounded-full bg-accent" />
        </span>
        {choice.label}
      </DropdownMenu.RadioItem>
    ))}
  </DropdownMenu.RadioGroup>
)

export const MenuLine = () => <DropdownMenu.Separator className="my-1.5 h-px bg-line" />
