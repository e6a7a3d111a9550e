import { expect, test } from 'vitest'
import { mxProvider } from '../../src/channels/email/smtp/mx.js'
import { systemResolver } from '../../src/channels/email/resolver.js'
import { smtpProvider } from '../../src/channels/email/smtp/smtp.js'
import { type ECartaOptions, eCartaProvider } from '../../src/channels/letter/e-carta.js'
import { printShopProvider } from '../../src/channels/letter/print-shop.js'
import { zenviaProvider } from '../../src/channels/sms/zenvia.js'
import { uncertaintyOf } from '../../src/channels/unknown-class.js'
import { cloudProvider } from '../../src/channels/whatsapp/cloud.js'

test('the class that is known by a provider’s name is the provider’s own, real or simulated', () => {
  const providers = [
    smtpProvider({ signer: null }),
    mxProvider({ resolver: systemResolver(), signer: null }),
    zenviaProvider(),
    cloudProvider,
    printShopProvider(),
    eCartaProvider({} as ECartaOptions),
  ]
  for (const { name, whenUncertain } of providers) {
    expect([name, uncertaintyOf(name), uncertaintyOf(`simulator/${name}`)]).toEqual([name, whenUncertain, whenUncertain])
  }
})

test('what nobody knows is left to a person', () => {
  expect(uncertaintyOf('pigeon')).toBe('never')
})
