import {
  Activity,
  ChartLine,
  FileText,
  Inbox,
  KeyRound,
  Layers,
  type LucideIcon,
  PenLine,
  RadioTower,
  Route,
  Smartphone,
  Webhook,
} from 'lucide-react'
import type { Installation } from '../../../src/http/console/installation-schema.js'
import { defineWords } from './language.js'

type ScreenName =
  | 'overview'
  | 'notifications'
  | 'new'
  | 'bulk'
  | 'templates'
  | 'sequence'
  | 'webhooks'
  | 'carriers'
  | 'access'
  | 'operations'
  | 'simulator'

export interface ScreenEntry {
  name: ScreenName
  path: '/' | `/${string}`
  icon: LucideIcon
  /** After g, on the keyboard. */
  key: string
  /** Who sees it in the list; the API refuses the others in any case. */
  roles: readonly Installation['operator']['role'][]
}

const all = ['operator', 'sender', 'auditor'] as const

/** The screens in the order of the list, in groups. */
export const screenGroups: readonly { name: 'follow' | 'send' | 'connect' | 'manage'; screens: readonly ScreenEntry[] }[] = [
  {
    name: 'follow',
    screens: [
      { name: 'overview', path: '/', icon: ChartLine, key: 'o', roles: all },
      { name: 'notifications', path: '/notifications', icon: Inbox, key: 'n', roles: all },
    ],
  },
  {
    name: 'send',
    screens: [
      { name: 'new', path: '/new', icon: PenLine, key: 'e', roles: ['operator', 'sender'] },
      { name: 'bulk', path: '/bulk', icon: Layers, key: 'b', roles: all },
      { name: 'templates', path: '/templates', icon: FileText, key: 't', roles: all },
      { name: 'sequence', path: '/sequence', icon: Route, key: 'r', roles: all },
    ],
  },
  {
    name: 'connect',
    screens: [
      { name: 'webhooks', path: '/webhooks', icon: Webhook, key: 'w', roles: all },
      { name: 'carriers', path: '/carriers', icon: RadioTower, key: 'c', roles: ['operator', 'auditor'] },
      { name: 'simulator', path: '/simulator', icon: Smartphone, key: 's', roles: ['operator', 'sender'] },
    ],
  },
  {
    name: 'manage',
    screens: [
      { name: 'access', path: '/access', icon: KeyRound, key: 'a', roles: all },
      { name: 'operations', path: '/operations', icon: Activity, key: 'p', roles: ['operator', 'auditor'] },
    ],
  },
]

export const screens: readonly ScreenEntry[] = screenGroups.flatMap(group => group.screens)

export const navigationWords = defineWords(
  {
    screens: {
      overview: 'Visão geral',
      notifications: 'Notificações',
      new: 'Novo envio',
      bulk: 'Em massa',
      templates: 'Templates',
      sequence: 'Régua',
      webhooks: 'Webhooks',
      carriers: 'Operadoras',
      access: 'Acesso',
      operations: 'Operação',
      simulator: 'Simulador',
    },
    groups: { follow: 'Acompanhar', send: 'Enviar', connect: 'Conectar', manage: 'Administrar' },
  },
  {
    screens: {
      overview: 'Overview',
      notifications: 'Notifications',
      new: 'New',
      bulk: 'Bulk',
      templates: 'Templates',
      sequence: 'Sequence',
      webhooks: 'Webhooks',
      carriers: 'Carriers',
      access: 'Access',
      operations: 'Operations',
      simulator: 'Simulator',
    },
    groups: { follow: 'Follow', send: 'Send', connect: 'Connect', manage: 'Manage' },
  },
)
