import { Badge, Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { ConfirmButton } from '../ui/confirm-button';
import { EmptyState } from '../ui/empty-state';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { CreateKey } from './create-key';

type Key = components['schemas']['KeyOut'];

export default function KeysPage() {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const [isCreating, { open, close }] = useDisclosure();
  const keys = useQuery({
    queryKey: [id, 'keys'],
    queryFn: async () => (await takeData(api.GET('/console/api/keys'))).data,
    refetchInterval: LIVE_MS,
  });
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={open}>
      {t('keys.new')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('keys.title')} subtitle={t('keys.subtitle')}>
        {keys.data?.length !== 0 && create}
      </PageHeader>
      <QueryView query={keys}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState title={t('keys.empty')} help={t('keys.emptyHelp')}>
              {create}
            </EmptyState>
          ) : (
            <KeysTable keys={list} />
          )
        }
      </QueryView>
      <CreateKey opened={isCreating} close={close} />
    </>
  );
}

function KeysTable({ keys }: { keys: Key[] }) {
  const { t } = useTranslation();
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.name')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th>{t('keys.scopes')}</Table.Th>
            <Table.Th>{t('common.created')}</Table.Th>
            <Table.Th>{t('keys.lastUsed')}</Table.Th>
            <Table.Th>{t('common.actions')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function KeyRow({ apiKey }: { apiKey: Key }) {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const revoke = async () => {
    await api.DELETE('/console/api/keys/{key_id}', { params: { path: { key_id: apiKey.id } } });
    await queries.invalidateQueries({ queryKey: [id, 'keys'] });
  };
  const state = decideState(apiKey);
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600} className="wrap">
          {apiKey.name || apiKey.id}
        </Text>
        {apiKey.instance_ids !== null && (
          <Text size="xs" c="dimmed">
            {t('keys.restricted', { count: apiKey.instance_ids.length })}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Badge color={state === 'active' ? 'teal' : 'gray'} variant="light" tt="none">
          {t(`keys.states.${state}`)}
        </Badge>
        {apiKey.expires_at !== null && state === 'active' && (
          <Text size="xs" c="dimmed">
            {t('keys.expires')} <Time value={apiKey.expires_at} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Text size="sm">{apiKey.scopes.join(', ')}</Text>
      </Table.Td>
      <Table.Td>
        <Time value={apiKey.created_at} />
      </Table.Td>
      <Table.Td>
        {apiKey.last_used_at === null ? (
          <Text c="dimmed" inherit>
            {t('common.never')}
          </Text>
        ) : (
          <Time value={apiKey.last_used_at} />
        )}
      </Table.Td>
      <Table.Td>
        {state === 'active' && (
          <ConfirmButton
            size="xs"
            label={t('keys.revoke')}
            title={t('keys.revokeTitle', { name: apiKey.name || apiKey.id })}
            text={t('keys.revokeText')}
            action={revoke}
          />
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function decideState({ revoked_at, expires_at }: Key): 'active' | 'revoked' | 'expired' {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active';
}
