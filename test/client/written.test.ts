import { expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { wireStatuses } from '../../src/webhooks/payload.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { writeClientTypes } from '../support/generators/client-types.js'
import { writeCollection } from '../support/generators/collection.js'
import { documentOf, operationsOf } from '../support/openapi.js'
import { ROOT } from '../support/sources.js'

const { gateway } = await gatewayForFile()
const document = documentOf(gateway)

/** Where one of these fails, the interface has changed: `npm run write-client` writes the files anew. */
test('the client’s types are those of the interface’s description', async () => {
  const channels = channelModules.map(({ wire }) => wire)
  await expect(writeClientTypes(document, channels, Object.values(wireStatuses))).toMatchFileSnapshot(`${ROOT}/client/types.ts`)
})

test('the collection has every operation, with its example', async () => {
  const collection = writeCollection(document)
  const requests = collection.item.flatMap(({ item }) => item)
  expect(requests).toHaveLength(operationsOf(document).length)
  await expect(`${JSON.stringify(collection, null, 2)}\n`).toMatchFileSnapshot(`${ROOT}/docs/carteiro.postman_collection.json`)
})
