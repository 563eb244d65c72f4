import { Box, Button, Code, Stack, Table, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { IconDownload } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { ProblemAlert } from '../ui/problem-alert';
import { Time } from '../ui/time';

type Entry = components['schemas']['AuditEntryOut'];

const TEXTS = ['actor', 'action', 'subject'] as const;
const TIMES = ['since', 'until'] as const;
type Filter = (typeof TEXTS | typeof TIMES)[number];

/** The filters of the address, and as those of the operation. The address has local times. */
function useAuditFilters() {
  const filters = {
    actor: useFilter('actor'),
    action: useFilter('action'),
    subject: useFilter('subject'),
    since: useFilter('since'),
    until: useFilter('until'),
  };
  const query: Partial<Record<Filter, string>> = {};
  for (const name of TEXTS) if (filters[name][0]) query[name] = filters[name][0];
  for (const name of TIMES) if (filters[name][0]) query[name] = new Date(filters[name][0]).toISOString();
  return { filters, query };
}

export default function AuditLogPage() {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const { filters, query } = useAuditFilters();
  const pages = usePages([id, 'audit-log', query], (cursor) =>
    takeData(
      api.GET('/console/api/audit-log', {
        params: { query: { ...query, ...(cursor !== undefined && { cursor }) } },
      }),
    ),
  );
  const download = useMutation({
    mutationFn: async () =>
      saveFile(
        await takeData(api.GET('/console/api/audit-log.csv', { params: { query }, parseAs: 'text' })),
        'audit-log.csv',
      ),
  });
  return (
    <>
      <PageHeader title={t('auditLog.title')} subtitle={t('auditLog.subtitle')}>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} />}
          loading={download.isPending}
          onClick={() => download.mutate()}
        >
          {t('auditLog.export')}
        </Button>
      </PageHeader>
      <Stack>
        <ProblemAlert error={download.error} />
        <Box className="filters">
          {TEXTS.map((name) => (
            <FilterInput key={name} name={name} filter={filters[name]} />
          ))}
          {TIMES.map((name) => (
            <FilterInput key={name} name={name} filter={filters[name]} isTime />
          ))}
        </Box>
        <PagesView
          pages={pages}
          empty={<EmptyState title={t('auditLog.empty')} help={t('auditLog.emptyHelp')} />}
        >
          {(rows) => <EntriesTable entries={rows} />}
        </PagesView>
      </Stack>
    </>
  );
}

function FilterInput({
  name,
  filter: [value, set],
  isTime = false,
}: {
  name: Filter;
  filter: ReturnType<typeof useFilter>;
  isTime?: boolean;
}) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t(`auditLog.filters.${name}`)}
      {...(isTime && { type: 'datetime-local', className: 'wide' })}
      value={value ?? ''}
      onChange={(event) => set(event.currentTarget.value.trim() || null)}
    />
  );
}

function EntriesTable({ entries }: { entries: Entry[] }) {
  const { t } = useTranslation();
  return (
    <Table.ScrollContainer minWidth={720} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.time')}</Table.Th>
            <Table.Th>{t('auditLog.filters.actor')}</Table.Th>
            <Table.Th>{t('auditLog.filters.action')}</Table.Th>
            <Table.Th>{t('auditLog.filters.subject')}</Table.Th>
            <Table.Th>{t('auditLog.detail')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr key={entry.id}>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>
                <Time value={entry.at} />
              </Table.Td>
              <Table.Td>{entry.actor_name ?? entry.actor}</Table.Td>
              <Table.Td>{entry.action}</Table.Td>
              <Table.Td className="wrap">
                <Text size="xs">{entry.subject}</Text>
              </Table.Td>
              <Table.Td className="wrap">
                {Object.keys(entry.detail).length > 0 && <Code>{JSON.stringify(entry.detail)}</Code>}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function saveFile(content: string, name: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
