import { useNavigate, useSearch } from '@tanstack/react-router'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Page } from '../../parts/shell/page.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { AccountTab } from './account-tab.js'
import { AddressesTab } from './addresses-tab.js'
import { AuditTab } from './audit-tab.js'
import { NewAccount } from './new-account.js'
import { OperatorsTab } from './operators-tab.js'
import { TokensTab } from './tokens-tab.js'
import { words as screenWords } from './words.js'

/** Who may do what: accounts with their tokens and addresses, people, and what was done. */
export function AccessScreen() {
  const words = useWords(screenWords)
  const { accounts, operator } = useInstallation()
  const scope = useScope()
  const navigate = useNavigate({ from: '/access' })
  const { tab = 'account' } = useSearch({ from: '/shell/access' })
  const account = accounts.find(({ id }) => id === scope.account) ?? accounts[0]
  const mayChange = operator.role === 'operator'
  // The header chooses the account; where it shows all of them, these tabs are about the first.
  const ofAccount = accounts.length > 1 && ['account', 'tokens', 'addresses'].includes(tab)
  const accountTabs =
    account === undefined
      ? []
      : [
          {
            value: 'account',
            label: words.account,
            content: <AccountTab key={account.id} account={account.id} mayChange={mayChange} />,
          },
          { value: 'tokens', label: words.tokens, content: <TokensTab account={account} mayChange={mayChange} /> },
          { value: 'addresses', label: words.addresses, content: <AddressesTab account={account.id} mayChange={mayChange} /> },
        ]
  const peopleTabs =
    operator.role === 'sender'
      ? []
      : [
          { value: 'operators', label: words.operators, content: <OperatorsTab mayChange={mayChange} /> },
          { value: 'audit', label: words.audit, content: <AuditTab /> },
        ]
  const tabs = [...accountTabs, ...peopleTabs]
  return (
    <Page
      title={words.title}
      about={ofAccount && account !== undefined ? words.ofAccount(account.name) : words.about}
      actions={mayChange && <NewAccount />}
    >
      <Tabs
        label={words.title}
        tabs={tabs}
        value={tab}
        onChoose={value => void navigate({ search: previous => ({ ...previous, tab: value }), replace: true })}
      />
    </Page>
  )
}
