import { expect, test } from 'vitest'
import { systemResolver } from '../../src/channels/email/resolver.js'
import { mxProvider } from '../../src/channels/email/smtp/mx.js'
import { smtpProvider } from '../../src/channels/email/smtp/smtp.js'
import { type ECartaOptions, eCartaProvider } from '../../src/channels/letter/e-carta/e-carta.js'
import { printShopProvider } from '../../src/channels/letter/print-shop.js'
import { zenviaProvider } from '../../src/channels/sms/zenvia.js'
import { unknownClassOf } from '../../src/channels/unknown-class.js'
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
  for (const { name, whenUnknown } of providers) {
    expect([name, unknownClassOf(name), unknownClassOf(`simulator/${name}`)]).toEqual([name, whenUnknown, whenUnknown])
  }
})

test('what nobody knows is left to a person', () => {
  expect(unknownClassOf('pigeon')).toBe('never')
})
