import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { OperatorError } from '../../src/domain/errors.js'

describe('PUBLIC_URL', () => {
  test.each([
    ['https://notifica.example.com', 'https://notifica.example.com'],
    ['https://Notifica.example.com//', 'https://notifica.example.com'],
    ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
    ['https://notifica.example.com:443', 'https://notifica.example.com'],
  ])('%s is where people reach us', (given, read) => {
    expect(readConfig({ PUBLIC_URL: given }).publicUrl).toBe(read)
  })

  test.each([
    'https://example.com/notifica',
    'https://example.com/?x=1',
    'https://example.com?',
    'https://example.com/#topo',
    'https://example.com#',
    'https://eu:senha@example.com',
    'https://eu@example.com',
    'ftp://example.com',
    'example.com',
  ])('%s is refused by name, with the cure: links made of it would break', given => {
    const read = (): unknown => readConfig({ PUBLIC_URL: given })
    expect(read).toThrow(OperatorError)
    expect(read).toThrow(/- PUBLIC_URL deve ser .*sem caminho.*, como https:\/\/notifica\.example\.com/)
    expect(read).not.toThrow(/senha/)
  })
})

describe.each(['CARTEIRO_URL', 'SIMULATOR_URL'] as const)('%s', name => {
  const readOf = (given: string): string | null => {
    const { client, simulatorUrl } = readConfig({ [name]: given })
    return name === 'CARTEIRO_URL' ? client.url : simulatorUrl
  }

  test('may lie below a path', () => {
    expect(readOf('http://127.0.0.1:8025/')).toBe('http://127.0.0.1:8025')
    expect(readOf('https://example.com/carteiro/')).toBe('https://example.com/carteiro')
  })

  test.each(['http://a:b@example.com', 'http://example.com/?x', 'http://example.com/#x', 'smtp://example.com'])(
    '%s is refused',
    given => {
      expect(() => readOf(given)).toThrow(new RegExp(`- ${name} deve ser`))
    },
  )
})

const DATABASE_URL = 'postgres://u:p@h/db?sslmode=verify-full'

test('an owner of tables without their database is refused: the program would make a database of its own', () => {
  expect(() => readConfig({ DATABASE_OWNER_URL: DATABASE_URL })).toThrow('- DATABASE_OWNER_URL pede DATABASE_URL')
  expect(() => readConfig({ DATABASE_OWNER_URL: DATABASE_URL, DATABASE_URL: ' ' })).toThrow('pede DATABASE_URL')
  expect(() => readConfig({ DATABASE_OWNER_URL: DATABASE_URL, DATABASE_URL: 'x' })).not.toThrow('pede DATABASE_URL')
  expect(readConfig({ DATABASE_OWNER_URL: ' ' }).databaseUrl).toBe(null)
})

describe.each(['DATABASE_URL', 'DATABASE_OWNER_URL'] as const)('%s', name => {
  const readOf = (given: string): string | null => {
    const { databaseUrl, databaseOwnerUrl } = readConfig({ DATABASE_URL, [name]: given })
    return name === 'DATABASE_URL' ? databaseUrl : databaseOwnerUrl
  }

  test('may name several servers, of which one accepts writes', () => {
    const several = 'postgres://u:p@h1:5432,h2:5432/db?target_session_attrs=read-write&sslmode=verify-full'
    expect(readOf(several)).toBe(several)
    expect(readConfig({ DATABASE_URL, [name]: several }).warnings).toEqual([])
  })

  test.each(['postgres://u:senha@h1:5432,h2:x/db', 'postgres://u:senha@h1,h2/db?target_session_attrs=standby', 'mysql://h/db'])(
    '%s is refused by name, with the cure and without the password',
    given => {
      expect(() => readOf(given)).toThrow(new RegExp(`- ${name} deve ser .*vírgulas.*target_session_attrs=read-write`))
      expect(() => readOf(given)).not.toThrow(/u:senha/)
    },
  )
})
