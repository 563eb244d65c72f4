import { Anchor, Badge, Button, Group, Modal, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { IconPlus, IconSearch } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { takeData } from '../api/client';
import { EmptyState } from '../ui/empty-state';
import { formatBytes } from '../ui/bytes';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { ProblemAlert } from '../ui/problem-alert';
import { platformApi, type PlatformAccount } from './client';

const TYPING_MS = 200;

export default function PlatformAccountsPage() {
  const { t } = useTranslation();
  const [isCreating, { open, close }] = useDisclosure();
  const [search, setSearch] = useFilter('search');
  const [wanted] = useDebouncedValue(search?.trim() ?? '', TYPING_MS);
  const pages = usePages(['platform', 'accounts', wanted], (cursor) => {
    const query = { ...(wanted !== '' && { search: wanted }), ...(cursor !== undefined && { cursor }) };
    return takeData(platformApi.GET('/console/api/platform/accounts', { params: { query } }));
  });
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={open}>
      {t('platform.accounts.new')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('platform.accounts.title')} subtitle={t('platform.accounts.subtitle')}>
        {create}
      </PageHeader>
      <Stack>
        <TextInput
          aria-label={t('platform.accounts.search')}
          placeholder={t('platform.accounts.search')}
          leftSection={<IconSearch size={16} />}
          maw={320}
          value={search ?? ''}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <PagesView
          pages={pages}
          empty={<EmptyState title={t('platform.accounts.empty')} help={t('platform.accounts.emptyHelp')} />}
        >
          {(rows) => <AccountsTable accounts={rows} />}
        </PagesView>
      </Stack>
      <Modal
        opened={isCreating}
        onClose={close}
        title={t('platform.accounts.new')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        <CreateAccount close={close} />
      </Modal>
    </>
  );
}

function AccountsTable({ accounts }: { accounts: PlatformAccount[] }) {
  const { t } = useTranslation();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('common.name')}</Table.Th>
          <Table.Th ta="right">{t('platform.accounts.numbers')}</Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('platform.accounts.media')}
          </Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('platform.accounts.events')}
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {accounts.map((account) => (
          <AccountRow key={account.id} account={account} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function AccountRow({ account: { id, name, suspended_at, limits, usage } }: { account: PlatformAccount }) {
  const { t, i18n } = useTranslation();
  const showUse = (used: number | undefined, limit: number) =>
    t('platform.accounts.use', {
      used: formatBytes(used ?? 0, i18n.language),
      limit: formatBytes(limit, i18n.language),
    });
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs">
          <Anchor component={Link} to={`/platform/accounts/${id}`} fw={600} className="wrap">
            {name}
          </Anchor>
          {suspended_at !== null && (
            <Badge color="red" variant="light" tt="none">
              {t('platform.account.suspended')}
            </Badge>
          )}
        </Group>
        <Anchor component={Link} to={`/${id}`} size="sm">
          {t('platform.account.open')}
        </Anchor>
      </Table.Td>
      <Table.Td ta="right">
        {t('platform.accounts.use', { used: usage?.instances ?? 0, limit: limits.instances })}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {showUse(usage?.media_bytes, limits.media_bytes)}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {showUse(usage?.event_bytes, limits.event_bytes)}
      </Table.Td>
    </Table.Tr>
  );
}

function CreateAccount({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const creation = useMutation({
    mutationFn: () =>
      takeData(
        platformApi.POST('/console/api/platform/accounts', {
          body: { name: name.trim(), limits: {}, namespaces: [] },
        }),
      ),
    onSuccess: ({ id }) => navigate(`/platform/accounts/${id}`),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('common.name')}
          description={t('platform.account.nameHelp')}
          required
          maxLength={80}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Text size="sm" c="dimmed">
          {t('platform.accounts.createHelp')}
        </Text>
        <ProblemAlert error={creation.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={creation.isPending}>
            {t('common.create')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
