import { typedLink } from '../../domain/recipient/link.js'
import { brandSample } from '../brand-sample.js'
import type { BrandSampler } from '../channel.js'
import type { PostalAddress } from './postal-address.js'
import { makeSheet, printableLogo, senderOf } from './preparation.js'
import { createTypesetter } from './typesetter.js'

const ADDRESS: PostalAddress = {
  street: 'Rua das Flores',
  number: '100',
  complement: '',
  district: 'Centro',
  city: 'São Paulo',
  state: 'SP',
  postcode: '01310100',
}
const NOBODY = '00000000-0000-7000-8000-000000000000'

/** A letter to nobody, typeset as real ones are. */
export function openBrandSampler(): BrandSampler {
  const typesetter = createTypesetter(1)
  return {
    async show({ accountName, settings, logo, publicUrl }) {
      const { subject, recipientName, content, path } = brandSample
      const printable = printableLogo(logo)
      const claim = { notification: NOBODY, settings, accountName, subject, acceptedAt: new Date() }
      const recipient = { name: recipientName, address: ADDRESS }
      const envelope = { layout: 'simples' as const, recipient, sender: senderOf(claim) }
      const sheet = makeSheet(claim, envelope, await typesetter.read(content), printable?.name ?? null)
      const copy = { for: 'recipient', link: `${publicUrl}${path}`, typed: typedLink(publicUrl, 'exemploexe') } as const
      const { pdf } = await typesetter.compose(sheet, copy, printable?.bytes)
      return { type: 'application/pdf', body: pdf }
    },
    close: () => typesetter.close(),
  }
}
