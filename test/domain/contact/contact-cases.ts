/**
 * Area code, hours, holidays, moment, and what must follow: go, or the rule and the first moment at which a contact may be made. The
 * lines were written by another program in another language, which tries every minute, from a list of Easter Sundays. perDay: the
 * person has had all contacts of that day.
 */
export const contactCases = `
11 text national 2027-03-26T13:00Z holiday 2027-03-27T11:00Z
11 call national 2027-03-25T22:00Z hours 2027-03-29T12:00Z
92 text national 2027-03-25T23:59Z go
21 call bank 2027-02-09T14:00Z holiday 2027-02-10T12:00Z
21 call national 2027-02-09T14:00Z go
68 text bank 2027-02-08T13:00Z holiday 2027-02-10T13:00Z
31 text bank 2027-05-27T18:30Z holiday 2027-05-28T11:00Z
31 text national 2027-05-27T18:30Z go
11 text national 2028-04-14T13:00Z holiday 2028-04-15T11:00Z
11 call national 2028-04-13T22:00Z hours 2028-04-17T12:00Z
92 text national 2028-04-13T23:59Z go
21 call bank 2028-02-29T14:00Z holiday 2028-03-01T12:00Z
21 call national 2028-02-29T14:00Z go
68 text bank 2028-02-28T13:00Z holiday 2028-03-01T13:00Z
31 text bank 2028-06-15T18:30Z holiday 2028-06-16T11:00Z
31 text national 2028-06-15T18:30Z go
11 text national 2029-03-30T13:00Z holiday 2029-03-31T11:00Z
11 call national 2029-03-29T22:00Z hours 2029-04-02T12:00Z
92 text national 2029-03-29T23:59Z go
21 call bank 2029-02-13T14:00Z holiday 2029-02-14T12:00Z
21 call national 2029-02-13T14:00Z go
68 text bank 2029-02-12T13:00Z holiday 2029-02-14T13:00Z
31 text bank 2029-05-31T18:30Z holiday 2029-06-01T11:00Z
31 text national 2029-05-31T18:30Z go
11 text national 2030-04-19T13:00Z holiday 2030-04-20T11:00Z
11 call national 2030-04-18T22:00Z hours 2030-04-22T12:00Z
92 text national 2030-04-18T23:59Z go
21 call bank 2030-03-05T14:00Z holiday 2030-03-06T12:00Z
21 call national 2030-03-05T14:00Z go
68 text bank 2030-03-04T13:00Z holiday 2030-03-06T13:00Z
31 text bank 2030-06-20T18:30Z holiday 2030-06-21T11:00Z
31 text national 2030-06-20T18:30Z go
11 text national 2031-04-11T13:00Z holiday 2031-04-12T11:00Z
11 call national 2031-04-10T22:00Z hours 2031-04-14T12:00Z
92 text national 2031-04-10T23:59Z go
21 call bank 2031-02-25T14:00Z holiday 2031-02-26T12:00Z
21 call national 2031-02-25T14:00Z go
68 text bank 2031-02-24T13:00Z holiday 2031-02-26T13:00Z
31 text bank 2031-06-12T18:30Z holiday 2031-06-13T11:00Z
31 text national 2031-06-12T18:30Z go
11 text national 2032-03-26T13:00Z holiday 2032-03-27T11:00Z
11 call national 2032-03-25T22:00Z hours 2032-03-29T12:00Z
92 text national 2032-03-25T23:59Z go
21 call bank 2032-02-10T14:00Z holiday 2032-02-11T12:00Z
21 call national 2032-02-10T14:00Z go
68 text bank 2032-02-09T13:00Z holiday 2032-02-11T13:00Z
31 text bank 2032-05-27T18:30Z holiday 2032-05-28T11:00Z
31 text national 2032-05-27T18:30Z go
11 text national 2033-04-15T13:00Z holiday 2033-04-16T11:00Z
11 call national 2033-04-14T22:00Z hours 2033-04-18T12:00Z
92 text national 2033-04-14T23:59Z go
21 call bank 2033-03-01T14:00Z holiday 2033-03-02T12:00Z
21 call national 2033-03-01T14:00Z go
68 text bank 2033-02-28T13:00Z holiday 2033-03-02T13:00Z
31 text bank 2033-06-16T18:30Z holiday 2033-06-17T11:00Z
31 text national 2033-06-16T18:30Z go
11 text national 2034-04-07T13:00Z holiday 2034-04-08T11:00Z
11 call national 2034-04-06T22:00Z hours 2034-04-10T12:00Z
92 text national 2034-04-06T23:59Z go
21 call bank 2034-02-21T14:00Z holiday 2034-02-22T12:00Z
21 call national 2034-02-21T14:00Z go
68 text bank 2034-02-20T13:00Z holiday 2034-02-22T13:00Z
31 text bank 2034-06-08T18:30Z holiday 2034-06-09T11:00Z
31 text national 2034-06-08T18:30Z go
11 text national 2035-03-23T13:00Z holiday 2035-03-24T11:00Z
11 call national 2035-03-22T22:00Z hours 2035-03-26T12:00Z
92 text national 2035-03-22T23:59Z go
21 call bank 2035-02-06T14:00Z holiday 2035-02-07T12:00Z
21 call national 2035-02-06T14:00Z go
68 text bank 2035-02-05T13:00Z holiday 2035-02-07T13:00Z
31 text bank 2035-05-24T18:30Z holiday 2035-05-25T11:00Z
31 text national 2035-05-24T18:30Z go
11 text national 2036-04-11T13:00Z holiday 2036-04-12T11:00Z
11 call national 2036-04-10T22:00Z hours 2036-04-14T12:00Z
92 text national 2036-04-10T23:59Z go
21 call bank 2036-02-26T14:00Z holiday 2036-02-27T12:00Z
21 call national 2036-02-26T14:00Z go
68 text bank 2036-02-25T13:00Z holiday 2036-02-27T13:00Z
31 text bank 2036-06-12T18:30Z holiday 2036-06-13T11:00Z
31 text national 2036-06-12T18:30Z go
11 text national 2037-04-03T13:00Z holiday 2037-04-04T11:00Z
11 call national 2037-04-02T22:00Z hours 2037-04-06T12:00Z
92 text national 2037-04-02T23:59Z go
21 call bank 2037-02-17T14:00Z holiday 2037-02-18T12:00Z
21 call national 2037-02-17T14:00Z go
68 text bank 2037-02-16T13:00Z holiday 2037-02-18T13:00Z
31 text bank 2037-06-04T18:30Z holiday 2037-06-05T11:00Z
31 text national 2037-06-04T18:30Z go
11 text national 2038-04-23T13:00Z holiday 2038-04-24T11:00Z
11 call national 2038-04-22T22:00Z hours 2038-04-26T12:00Z
92 text national 2038-04-22T23:59Z go
21 call bank 2038-03-09T14:00Z holiday 2038-03-10T12:00Z
21 call national 2038-03-09T14:00Z go
68 text bank 2038-03-08T13:00Z holiday 2038-03-10T13:00Z
31 text bank 2038-06-24T18:30Z holiday 2038-06-25T11:00Z
31 text national 2038-06-24T18:30Z go
11 text national 2039-04-08T13:00Z holiday 2039-04-09T11:00Z
11 call national 2039-04-07T22:00Z hours 2039-04-11T12:00Z
92 text national 2039-04-07T23:59Z go
21 call bank 2039-02-22T14:00Z holiday 2039-02-23T12:00Z
21 call national 2039-02-22T14:00Z go
68 text bank 2039-02-21T13:00Z holiday 2039-02-23T13:00Z
31 text bank 2039-06-09T18:30Z holiday 2039-06-10T11:00Z
31 text national 2039-06-09T18:30Z go
11 text national 2040-03-30T13:00Z holiday 2040-03-31T11:00Z
11 call national 2040-03-29T22:00Z hours 2040-04-02T12:00Z
92 text national 2040-03-29T23:59Z go
21 call bank 2040-02-14T14:00Z holiday 2040-02-15T12:00Z
21 call national 2040-02-14T14:00Z go
68 text bank 2040-02-13T13:00Z holiday 2040-02-15T13:00Z
31 text bank 2040-05-31T18:30Z holiday 2040-06-01T11:00Z
31 text national 2040-05-31T18:30Z go
11 text national 2027-01-01T15:00Z holiday 2027-01-02T11:00Z
11 text national 2031-01-01T15:00Z holiday 2031-01-02T11:00Z
11 text national 2038-01-01T15:00Z holiday 2038-01-02T11:00Z
85 call national 2028-04-21T15:00Z holiday 2028-04-24T12:00Z
85 call national 2032-04-21T15:00Z holiday 2032-04-22T12:00Z
85 call national 2038-04-21T15:00Z holiday 2038-04-22T12:00Z
92 text national 2029-05-01T16:00Z holiday 2029-05-02T12:00Z
92 text national 2033-05-01T16:00Z holiday 2033-05-02T12:00Z
92 text national 2038-05-01T16:00Z holiday 2038-05-03T12:00Z
68 call national 2027-09-07T17:00Z holiday 2027-09-08T14:00Z
68 call national 2034-09-07T17:00Z holiday 2034-09-08T14:00Z
68 call national 2038-09-07T17:00Z holiday 2038-09-08T14:00Z
11 text national 2028-10-12T15:00Z holiday 2028-10-13T11:00Z
11 text national 2031-10-12T15:00Z holiday 2031-10-13T11:00Z
11 text national 2038-10-12T15:00Z holiday 2038-10-13T11:00Z
85 call national 2029-11-02T15:00Z holiday 2029-11-05T12:00Z
85 call national 2032-11-02T15:00Z holiday 2032-11-03T12:00Z
85 call national 2038-11-02T15:00Z holiday 2038-11-03T12:00Z
92 text national 2027-11-15T16:00Z holiday 2027-11-16T12:00Z
92 text national 2033-11-15T16:00Z holiday 2033-11-16T12:00Z
92 text national 2038-11-15T16:00Z holiday 2038-11-16T12:00Z
68 call national 2028-11-20T17:00Z holiday 2028-11-21T14:00Z
68 call national 2034-11-20T17:00Z holiday 2034-11-21T14:00Z
68 call national 2038-11-20T17:00Z holiday 2038-11-22T14:00Z
11 text national 2029-12-25T15:00Z holiday 2029-12-26T11:00Z
11 text national 2031-12-25T15:00Z holiday 2031-12-26T11:00Z
11 text national 2038-12-25T15:00Z holiday 2038-12-27T11:00Z
11 text national 2027-07-06T10:59Z hours 2027-07-06T11:00Z
11 text national 2027-07-06T11:00Z go
11 text national 2027-07-06T22:59Z go
11 text national 2027-07-06T23:00Z hours 2027-07-07T11:00Z
65 text national 2027-07-06T11:59Z hours 2027-07-06T12:00Z
65 text national 2027-07-06T12:00Z go
65 text national 2027-07-06T23:59Z go
65 text national 2027-07-07T00:00Z hours 2027-07-07T12:00Z
67 text national 2027-07-06T11:59Z hours 2027-07-06T12:00Z
67 text national 2027-07-06T12:00Z go
67 text national 2027-07-06T23:59Z go
67 text national 2027-07-07T00:00Z hours 2027-07-07T12:00Z
68 text national 2027-07-06T12:59Z hours 2027-07-06T13:00Z
68 text national 2027-07-06T13:00Z go
68 text national 2027-07-07T00:59Z go
68 text national 2027-07-07T01:00Z hours 2027-07-07T13:00Z
69 text national 2027-07-06T11:59Z hours 2027-07-06T12:00Z
69 text national 2027-07-06T12:00Z go
69 text national 2027-07-06T23:59Z go
69 text national 2027-07-07T00:00Z hours 2027-07-07T12:00Z
92 text national 2027-07-06T11:59Z hours 2027-07-06T12:00Z
92 text national 2027-07-06T12:00Z go
92 text national 2027-07-06T23:59Z go
92 text national 2027-07-07T00:00Z hours 2027-07-07T12:00Z
95 text national 2027-07-06T11:59Z hours 2027-07-06T12:00Z
95 text national 2027-07-06T12:00Z go
95 text national 2027-07-06T23:59Z go
95 text national 2027-07-07T00:00Z hours 2027-07-07T12:00Z
97 text national 2027-07-06T11:59Z hours 2027-07-06T13:00Z
97 text national 2027-07-06T12:00Z hours 2027-07-06T13:00Z
97 text national 2027-07-06T23:59Z go
97 text national 2027-07-07T00:00Z hours 2027-07-07T13:00Z
71 call national 2028-06-20T11:59Z hours 2028-06-20T12:00Z
71 call national 2028-06-20T12:00Z go
97 call national 2028-06-20T13:30Z hours 2028-06-20T14:00Z
97 call national 2028-06-20T14:00Z go
97 call national 2028-06-20T22:59Z go
97 call national 2028-06-20T23:00Z hours 2028-06-21T14:00Z
68 call national 2028-06-20T14:00Z go
66 call national 2028-06-20T22:59Z go
11 text national 2027-07-10T10:30Z hours 2027-07-10T11:00Z
11 text national 2027-07-10T16:59Z go
11 text national 2027-07-10T17:00Z hours 2027-07-12T11:00Z
92 text national 2027-07-10T17:59Z go
97 text national 2027-07-10T12:30Z hours 2027-07-10T13:00Z
97 text national 2027-07-10T17:30Z go
68 text national 2027-07-11T15:00Z day 2027-07-12T13:00Z
11 text national 2027-07-12T02:59Z day 2027-07-12T11:00Z
11 text national 2027-07-12T03:00Z hours 2027-07-12T11:00Z
11 call national 2027-07-10T13:00Z day 2027-07-12T12:00Z
11 call national 2027-07-09T22:30Z hours 2027-07-12T12:00Z
68 call national 2027-12-25T00:00Z hours 2027-12-27T14:00Z
11 call national 2028-01-01T02:59Z hours 2028-01-03T12:00Z
97 call national 2029-11-01T22:59Z go
68 text national 2028-01-01T00:30Z go
68 text national 2028-01-01T05:30Z holiday 2028-01-03T13:00Z
63 text none 2028-12-25T13:00Z go
63 text none 2028-12-24T13:00Z day 2028-12-25T11:00Z
92 text national 2031-11-15T13:00Z holiday 2031-11-17T12:00Z
11 text national 2032-11-20T12:00Z holiday 2032-11-22T11:00Z
81 call bank 2033-02-28T13:00Z holiday 2033-03-02T12:00Z
11 text national 2027-03-25T13:00Z perDay 2027-03-27T11:00Z
11 call national 2027-03-25T13:00Z perDay 2027-03-29T12:00Z
68 text national 2027-07-07T00:59Z perDay 2027-07-07T13:00Z
92 call national 2027-07-09T13:00Z perDay 2027-07-12T13:00Z
97 call national 2027-07-09T22:00Z perDay 2027-07-12T14:00Z
97 text national 2027-07-08T13:00Z perDay 2027-07-09T13:00Z
65 text national 2027-12-24T16:00Z perDay 2027-12-27T12:00Z
67 call national 2028-12-22T16:00Z perDay 2028-12-26T13:00Z
69 text bank 2029-02-10T13:00Z perDay 2029-02-14T12:00Z
95 text bank 2030-06-19T13:00Z perDay 2030-06-21T12:00Z
95 text national 2030-06-19T13:00Z perDay 2030-06-20T12:00Z
11 text none 2030-12-24T12:00Z perDay 2030-12-25T11:00Z
21 call bank 2031-02-21T12:00Z perDay 2031-02-26T12:00Z
68 call national 2032-12-31T14:00Z perDay 2033-01-03T14:00Z
11 text national 2033-04-14T23:00Z perDay 2033-04-16T11:00Z
85 text national 2034-04-06T11:00Z perDay 2034-04-08T11:00Z
92 text national 2035-03-22T12:00Z perDay 2035-03-24T12:00Z
66 call national 2036-04-10T14:00Z perDay 2036-04-14T13:00Z
11 text national 2038-04-22T13:00Z perDay 2038-04-24T11:00Z
68 text national 2040-03-29T15:00Z perDay 2040-03-31T13:00Z
`
  .trim()
  .split('\n')
