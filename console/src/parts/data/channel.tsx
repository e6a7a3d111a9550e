import { type LucideIcon, Mail, MessageCircle, MessageSquare, Phone, ScrollText, Send } from 'lucide-react'
import { useInstallation } from '../../app/installation.js'

/** The icons that channels name (`look` in their module). */
const icons: Readonly<Record<string, LucideIcon>> = {
  mail: Mail,
  'message-square': MessageSquare,
  'message-circle': MessageCircle,
  phone: Phone,
  'scroll-text': ScrollText,
}

/** The colours that channels name, as CSS variables that both themes define. */
export const channelColor = (color: string): string => `var(--${color})`

export function useChannel(name: string): { label: string; icon: LucideIcon; color: string } {
  const found = useInstallation().channels.find(channel => channel.name === name)
  return { label: found?.label ?? name, icon: icons[found?.icon ?? ''] ?? Send, color: channelColor(found?.color ?? 'muted') }
}

export function ChannelIcon({ name, size = 16 }: { name: string; size?: number }) {
  const { icon: Icon, label, color } = useChannel(name)
  return <Icon size={size} role="img" aria-label={label} className="shrink-0" style={{ color }} />
}

export function ChannelName({ name }: { name: string }) {
  const { label, icon: Icon, color } = useChannel(name)
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <Icon size={16} aria-hidden="true" className="shrink-0" style={{ color }} />
      <span className="first-letter:uppercase">{label}</span>
    </span>
  )
}
