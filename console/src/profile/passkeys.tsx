import { Anchor, Button, Group, PasswordInput, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { getClient, takeData } from '../api/client';
import { PasskeyError } from '../session/passkey-button';
import { addPasskey, canUsePasskeys } from '../session/passkeys';
import { useSession } from '../session/session';
import { ConfirmButton } from '../ui/confirm-button';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';

const api = getClient(null);
const QUERY_KEY = ['profile-passkeys'];

/** Lists the passkeys of the person, adds and removes them. */
export function Passkeys() {
  const { t } = useTranslation();
  const passkeys = useQuery({
    queryKey: QUERY_KEY,
    queryFn: async () => (await takeData(api.GET('/console/api/profile/passkeys'))).data,
  });
  return (
    <Stack>
      <QueryView query={passkeys}>
        {(list) =>
          list.length === 0 ? (
            <Text size="sm">{t('passkeys.empty')}</Text>
          ) : (
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('common.name')}</Table.Th>
                  <Table.Th>{t('passkeys.lastUsed')}</Table.Th>
                  <Table.Th>{t('common.actions')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.map((passkey) => (
                  <PasskeyRow key={passkey.id} passkey={passkey} />
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </QueryView>
      {canUsePasskeys() ? <AddForm /> : <HostNote />}
    </Stack>
  );
}

/** A changed passkey changes the second factors of the session too. */
function useRenew() {
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: QUERY_KEY });
    await queries.invalidateQueries({ queryKey: ['session'] });
  };
}

interface PasskeyRowProps {
  passkey: { id: string; name: string; host: string; last_used_at: string | null };
}

function PasskeyRow({ passkey: { id, name, host, last_used_at: lastUsedAt } }: PasskeyRowProps) {
  const { t } = useTranslation();
  const { user } = useSession();
  const renew = useRenew();
  const remove = async (typed: string) => {
    const body = { password: user.has_password ? typed : null };
    const params = { path: { passkey_id: id } };
    await api.POST('/console/api/profile/passkeys/{passkey_id}/remove', { params, body });
    await renew();
  };
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" className="wrap">
          {name}
        </Text>
        <Text size="xs" c="dimmed" className="wrap">
          {host}
        </Text>
      </Table.Td>
      <Table.Td>{lastUsedAt === null ? t('common.never') : <Time value={lastUsedAt} />}</Table.Td>
      <Table.Td>
        <ConfirmButton
          size="xs"
          label={t('passkeys.remove')}
          title={t('passkeys.removeTitle', { name })}
          text={t('passkeys.removeText')}
          {...(user.has_password && { needs: 'password' })}
          action={remove}
        />
      </Table.Td>
    </Table.Tr>
  );
}

function AddForm() {
  const { t } = useTranslation();
  const { user } = useSession();
  const renew = useRenew();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const add = useMutation({
    mutationFn: () => addPasskey(name.trim(), user.has_password ? password : null),
    onSuccess: async () => {
      setName('');
      setPassword('');
      await renew();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('passkeys.name')}
          description={t('passkeys.nameHelp')}
          required
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {user.has_password && (
          <PasswordInput
            label={t('passkeys.password')}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
        <PasskeyError error={add.error} />
        <Group>
          <Button type="submit" loading={add.isPending}>
            {t('passkeys.add')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Says where passkeys can be added. A gateway on this machine has a host name too. */
function HostNote() {
  const { t } = useTranslation();
  const { hostname, port, pathname } = location;
  return (
    <Text size="sm">
      {t('passkeys.otherHost')}{' '}
      {hostname === '127.0.0.1' && (
        <Anchor size="sm" underline="always" href={`http://localhost:${port}${pathname}`}>
          localhost:{port}
        </Anchor>
      )}
    </Text>
  );
}
