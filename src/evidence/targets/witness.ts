import type { ClaimedTarget } from '../../store/evidence/checkpoint-targets.js'
import { insertCosignature } from '../../store/evidence/cosignatures.js'
import type { Queryable } from '../../store/postgres.js'
import { buildProofs } from '../log-hashes.js'
import { readNote, readSignatures, verifySignature } from '../note.js'
import { planConsistency } from '../tree.js'
import type { WitnessSetting } from './settings.js'
import { type CheckpointTarget, isSuccess, refusalOf, type TargetReply, type TargetRequest } from './target.js'

/** C2SP tlog-witness: the witness knows another size than we thought, and says which. */
const CONFLICT = 409

/**
 * A witness signs that it saw a checkpoint that continues the last one that it saw: whoever trusts it knows that there are no two
 * histories. Its signature is verified before it is stored.
 */
export const witnessTarget = (setting: WitnessSetting, db: Queryable, request: TargetRequest): CheckpointTarget => ({
  name: setting.name,
  everyMs: setting.everyMs,
  async deliver(checkpoint) {
    let reply = await ask(setting, db, request, checkpoint, checkpoint.known)
    const seen = reply.status === CONFLICT ? readSize(reply) : null
    if (seen !== null) {
      if (seen > checkpoint.size)
        throw new Error(
          `A testemunha já viu ${seen} eventos e o registro tem ${checkpoint.size}: uma cópia antiga do banco foi restaurada, ou o fim da história foi cortado.`,
        )
      reply = await ask(setting, db, request, checkpoint, seen)
    }
    if (!isSuccess(reply)) throw new Error(refusalOf(reply))
    await keepSignature(setting, db, checkpoint, reply)
  },
})

async function ask(
  { url }: WitnessSetting,
  db: Queryable,
  request: TargetRequest,
  { size, note }: ClaimedTarget,
  known: number,
): Promise<TargetReply> {
  const [proof] = await buildProofs(db, [planConsistency(known, size)])
  const lines = [`old ${known}`, ...proof!.map(hash => hash.toString('base64'))]
  return request(
    'POST',
    `${url}/add-checkpoint`,
    { 'content-type': 'text/plain; charset=utf-8' },
    `${lines.join('\n')}\n\n${note}`,
  )
}

function readSize({ body }: TargetReply): number | null {
  const [, size] = /^(\d{1,15})\n?$/.exec(body.toString('utf8')) ?? []
  return size === undefined ? null : Number(size)
}

async function keepSignature({ verifier }: WitnessSetting, db: Queryable, { size, note }: ClaimedTarget, { body }: TargetReply) {
  const { text } = readNote(note)!
  const own = (readSignatures(body.toString('utf8')) ?? []).find(
    ({ name, keyId }) => name === verifier.name && keyId.equals(verifier.keyId),
  )
  const verdict = own === undefined ? null : verifySignature(text, own, verifier)
  if (own === undefined || verdict === null)
    throw new Error('A resposta da testemunha não tem uma assinatura válida da chave dela.')
  await insertCosignature(db, { size, witness: verifier.vkey, line: own.line, at: verdict.at! })
}
