import { Alert, Button, Group, Paper, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { ConfirmButton } from '../ui/confirm-button';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { ProblemAlert } from '../ui/problem-alert';
import { Time } from '../ui/time';
import { ContactCheck } from './contact-check';

type OptOut = components['schemas']['OptOutOut'];
const TYPING_MS = 400;
const digits = (text: string): string => text.replaceAll(/\D/g, '');

/** Contacts who receive nothing more. A member who is restricted to some numbers may not see or change them. */
export default function OptOutsPage() {
  const { t } = useTranslation();
  const { id, api, can } = useAccount();
  const [phone, setPhone] = useFilter('phone');
  const [text, setText] = useState(phone ?? '');
  const apply = useDebouncedCallback((typed: string) => setPhone(digits(typed)), TYPING_MS);
  const filter = phone === null ? {} : { phone };
  const pages = usePages([id, 'opt-outs', phone], (cursor) =>
    takeData(
      api.GET('/v1/opt-outs', { params: { query: { ...filter, ...(cursor !== undefined && { cursor }) } } }),
    ),
  );
  return (
    <>
      <PageHeader title={t('optOuts.title')} subtitle={t('optOuts.subtitle')} />
      <Stack>
        <ContactCheck />
        {can('messages:send') && <AddOptOut />}
        <TextInput
          label={t('optOuts.search')}
          maw={320}
          value={text}
          maxLength={20}
          onChange={(event) => {
            setText(event.currentTarget.value);
            apply(event.currentTarget.value);
          }}
        />
        <PagesView
          pages={pages}
          empty={<EmptyState title={t('optOuts.empty')} help={t('optOuts.emptyHelp')} />}
        >
          {(rows) => <OptOutsTable rows={rows} />}
        </PagesView>
      </Stack>
    </>
  );
}

function AddOptOut() {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const [phone, setPhone] = useState('');
  const creation = useMutation({
    mutationFn: () => takeData(api.POST('/v1/opt-outs', { body: { phone: digits(phone) } })),
    onSuccess: () => {
      setPhone('');
      return queries.invalidateQueries({ queryKey: [id, 'opt-outs'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <Paper withBorder p="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Title order={2} size="h4">
            {t('optOuts.add')}
          </Title>
          <Group align="flex-end">
            <TextInput
              label={t('common.phone')}
              placeholder="5511987654321"
              required
              value={phone}
              onChange={(event) => setPhone(event.currentTarget.value)}
            />
            <Button type="submit" loading={creation.isPending}>
              {t('optOuts.add')}
            </Button>
          </Group>
          <ProblemAlert error={creation.error} />
        </Stack>
      </form>
    </Paper>
  );
}

function OptOutsTable({ rows }: { rows: OptOut[] }) {
  const { t } = useTranslation();
  const { can } = useAccount();
  return (
    <>
      <Alert color="blue">{t('optOuts.consent')}</Alert>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.phone')}</Table.Th>
            <Table.Th>{t('optOuts.source')}</Table.Th>
            <Table.Th visibleFrom="sm">{t('common.time')}</Table.Th>
            {can('messages:send') && <Table.Th>{t('common.actions')}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={`${row.phone} ${row.contact_id} ${row.instance_id}`}>
              <Table.Td {...(row.phone === null && { className: 'wrap' })}>
                {row.phone ?? row.contact_id}
              </Table.Td>
              <Table.Td>
                {t(`optOuts.sources.${row.source}`, { keyword: row.keyword ?? '' })}
                {row.scope === 'sandbox' && (
                  <Text size="xs" c="dimmed">
                    {t('optOuts.sandbox')}
                  </Text>
                )}
              </Table.Td>
              <Table.Td visibleFrom="sm">
                <Time value={row.created_at} />
              </Table.Td>
              {can('messages:send') && (
                <Table.Td>{row.phone !== null && <RemoveOptOut phone={row.phone} />}</Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </>
  );
}

function RemoveOptOut({ phone }: { phone: string }) {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const remove = async () => {
    await api.DELETE('/v1/opt-outs/{phone}', { params: { path: { phone } } });
    await queries.invalidateQueries({ queryKey: [id, 'opt-outs'] });
  };
  return (
    <ConfirmButton
      size="xs"
      label={t('optOuts.remove')}
      title={t('optOuts.removeTitle', { phone })}
      text={t('optOuts.removeText')}
      action={remove}
    />
  );
}
