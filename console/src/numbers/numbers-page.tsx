import { Anchor, Box, Button, NativeSelect, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconPlus, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { isFuture, Time } from '../ui/time';
import { CreateNumber } from './create-number';
import { RiskBadge } from './health';
import { readPhone, type Instance, type ListedInstance } from './queries';
import { INSTANCE_STATES, StateBadge } from './state-badge';

const PAGE_SIZE = 50;
const TYPING_MS = 400;

export default function NumbersPage() {
  const { t } = useTranslation();
  const { id, api, access, can } = useAccount();
  const [state, setState] = useFilter('state');
  const [search, setSearch] = useFilter('search');
  const filters = {
    ...(state !== null && { state: state as Instance['state'] }),
    ...(search !== null && { search }),
  };
  const pages = usePages([id, 'instances', 'list', filters], (cursor) => {
    const query = { ...filters, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
    return takeData(api.GET('/console/api/instances', { params: { query } }));
  });
  const [isCreating, { open, close }] = useDisclosure();
  // A member who is restricted to some numbers cannot create others.
  const mayCreate = can('instances:write') && access.instance_ids === null;
  const button = mayCreate && (
    <Button leftSection={<IconPlus size={16} />} onClick={open}>
      {t('numbers.new')}
    </Button>
  );
  const isFiltered = Object.keys(filters).length > 0;
  const isEmpty = !isFiltered && pages.data?.length === 0;
  return (
    <>
      <PageHeader title={t('numbers.title')} subtitle={t('numbers.subtitle')}>
        {!isEmpty && button}
      </PageHeader>
      {!isEmpty && (
        <Box className="filters">
          <Search value={search} set={setSearch} />
          <NativeSelect
            label={t('common.state')}
            data={[
              { value: '', label: t('common.all') },
              ...INSTANCE_STATES.map((value) => ({ value, label: t(`numbers.states.${value}`) })),
            ]}
            value={state ?? ''}
            onChange={({ currentTarget }) => setState(currentTarget.value || null)}
          />
        </Box>
      )}
      <PagesView
        pages={pages}
        empty={
          isFiltered ? (
            <EmptyState title={t('numbers.noneFound')} help={t('numbers.noneFoundHelp')} />
          ) : (
            <EmptyState
              title={t('numbers.empty')}
              help={t(mayCreate ? 'numbers.emptyHelp' : 'numbers.emptyReader')}
            >
              {button}
            </EmptyState>
          )
        }
      >
        {(rows) => <NumbersTable instances={rows} />}
      </PagesView>
      <CreateNumber opened={isCreating} close={close} />
    </>
  );
}

function Search({ value, set }: { value: string | null; set: (value: string | null) => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState(value ?? '');
  const apply = useDebouncedCallback((typed: string) => set(typed.trim()), TYPING_MS);
  return (
    <TextInput
      label={t('numbers.search')}
      leftSection={<IconSearch size={16} />}
      maxLength={80}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        apply(event.currentTarget.value);
      }}
    />
  );
}

function NumbersTable({ instances }: { instances: ListedInstance[] }) {
  const { t } = useTranslation();
  return (
    <Table.ScrollContainer minWidth={320} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table highlightOnHover verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.name')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('common.phone')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('number.tabs.health')}</Table.Th>
            <Table.Th visibleFrom="sm" ta="right">
              {t('numbers.queue')}
            </Table.Th>
            <Table.Th visibleFrom="md">{t('numbers.lastMessage')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {instances.map((instance) => (
            <NumberRow key={instance.id} instance={instance} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** The API counts no further. */
const MAX_QUEUE = 1_000;

function NumberRow({ instance }: { instance: ListedInstance }) {
  const { t, i18n } = useTranslation();
  const { path } = useAccount();
  const phone = readPhone(instance);
  const queue = instance.queue.toLocaleString(i18n.language);
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={path(`numbers/${instance.id}`)} fw={600} className="wrap">
          {instance.name}
        </Anchor>
        <Text size="sm" c="dimmed" hiddenFrom="sm">
          {phone ?? t('numbers.notPaired')}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {instance.business_name ?? (instance.kind === 'sandbox' && t('numbers.kinds.sandbox'))}
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge state={instance.state} />
        <Text size="xs" c="dimmed" mt={4}>
          <Time value={instance.state_changed_at} />
        </Text>
        {instance.restricted_until !== null && isFuture(instance.restricted_until) && (
          <Text size="xs" c="orange">
            {t('overview.reasons.restricted.name')}
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">{phone ?? <Text c="dimmed">{t('numbers.notPaired')}</Text>}</Table.Td>
      <Table.Td visibleFrom="sm">
        <RiskBadge risk={instance.health.risk} />
      </Table.Td>
      <Table.Td visibleFrom="sm" ta="right">
        {instance.queue >= MAX_QUEUE ? `${queue}+` : queue}
      </Table.Td>
      <Table.Td visibleFrom="md">
        {instance.last_message_at === null ? '–' : <Time value={instance.last_message_at} />}
      </Table.Td>
    </Table.Tr>
  );
}
