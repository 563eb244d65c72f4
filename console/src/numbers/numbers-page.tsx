import { Anchor, Button, Pagination, Table, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { EmptyState } from '../ui/empty-state';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { CreateNumber } from './create-number';
import { readPhone, useInstances, type Instance } from './queries';
import { StateBadge } from './state-badge';

export default function NumbersPage() {
  const { t } = useTranslation();
  const { access, can } = useAccount();
  const instances = useInstances();
  const [isCreating, { open, close }] = useDisclosure();
  // A member who is restricted to some numbers cannot create others.
  const mayCreate = can('instances:write') && access.instance_ids === null;
  const button = mayCreate && (
    <Button leftSection={<IconPlus size={16} />} onClick={open}>
      {t('numbers.new')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('numbers.title')} subtitle={t('numbers.subtitle')}>
        {instances.data?.length !== 0 && button}
      </PageHeader>
      <QueryView query={instances}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState
              title={t('numbers.empty')}
              help={t(mayCreate ? 'numbers.emptyHelp' : 'numbers.emptyReader')}
            >
              {button}
            </EmptyState>
          ) : (
            <NumbersTable instances={list} />
          )
        }
      </QueryView>
      <CreateNumber opened={isCreating} close={close} />
    </>
  );
}

const PAGE_SIZE = 50;

function NumbersTable({ instances }: { instances: Instance[] }) {
  const { t } = useTranslation();
  const [wanted, setWanted] = useState('');
  const [page, setPage] = useState(1);
  const found = instances.filter((instance) => matches(instance, wanted.trim().toLowerCase()));
  const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
  const shown = found.slice((Math.min(page, pages) - 1) * PAGE_SIZE).slice(0, PAGE_SIZE);
  return (
    <>
      {instances.length > 10 && (
        <TextInput
          aria-label={t('numbers.search')}
          placeholder={t('numbers.search')}
          leftSection={<IconSearch size={16} />}
          maw={320}
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
        />
      )}
      <Table highlightOnHover verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.name')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('common.phone')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('common.kind')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((instance) => (
            <NumberRow key={instance.id} instance={instance} />
          ))}
        </Table.Tbody>
      </Table>
      {pages > 1 && <Pagination total={pages} value={Math.min(page, pages)} onChange={setPage} />}
    </>
  );
}

const matches = (instance: Instance, wanted: string): boolean =>
  [instance.name, readPhone(instance) ?? '', instance.id].some((text) => text.toLowerCase().includes(wanted));

function NumberRow({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const phone = readPhone(instance);
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} to={path(`numbers/${instance.id}`)} fw={600}>
          {instance.name}
        </Anchor>
        <Text size="sm" c="dimmed" hiddenFrom="sm">
          {phone ?? t('numbers.notPaired')}
        </Text>
        {instance.business_name !== null && (
          <Text size="sm" c="dimmed">
            {instance.business_name}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StateBadge state={instance.state} />
        <Text size="xs" c="dimmed" mt={4}>
          <Time value={instance.state_changed_at} />
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">{phone ?? <Text c="dimmed">{t('numbers.notPaired')}</Text>}</Table.Td>
      <Table.Td visibleFrom="sm">{t(`numbers.kinds.${instance.kind}`)}</Table.Td>
    </Table.Tr>
  );
}
