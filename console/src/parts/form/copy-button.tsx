import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useWords } from '../../app/language.js'
import { partWords } from '../words.js'
import { Button, IconButton } from './button.js'

/** Copies a text and says so. `compact`: an icon alone, beside what it copies. */
export function CopyButton({ text, label, compact = false }: { text: string; label?: string; compact?: boolean }) {
  const words = useWords(partWords)
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  const icon = copied ? <Check size={16} /> : <Copy size={16} />
  const name = copied ? words.copied : (label ?? words.copy)
  if (compact)
    return (
      <IconButton label={name} onClick={copy} className="relative z-10 size-8">
        {icon}
      </IconButton>
    )
  return (
    <Button size="small" icon={icon} onClick={copy}>
      <span aria-live="polite">{name}</span>
    </Button>
  )
}
